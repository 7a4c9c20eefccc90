// SPDX-License-Identifier: Apache-2.0
// Runs a network on a stream: on one part after the other, with what it remembers.
#pragma once

#include <span>
#include <vector>

#include "halftone/api/run.h"

namespace halftone {

struct StreamOptions {
  std::vector<TiedNames> states{};
  RunOptions run{};
};

/// Runs a network on the parts of its inputs, one after the other. Recurrent layers go on where
/// they stopped; inputs with a state begin with zeros and then take the output that they are tied
/// to. If fewer inputs are given than the network has, each of those that follow is tied to the one
/// output of its type that no other state has.
///
/// Input 0 says what the parts are: its extent along one axis is a multiple of the network's, where
/// a network that leaves its batch open has 1, or that of the input if another axis has the parts.
/// The other inputs are divided along the same axis. The parts of an output that has the extent of
/// the part there are joined along that axis, those of others along their first.
///
/// The result is that of one run on the whole sequence, bit for bit, where float32 layers have a
/// fixed order of sums.
/// @param inputs  of the types of the first inputs of the network
/// @return        one per output that is no state
/// @throws Error  kUsage if names or numbers do not fit; kShape if the inputs are no whole parts;
///                kUnsupported as passes::keep_recurrent_states(); else as run()
std::vector<ir::Tensor> run_stream(Network network, std::span<const ir::Tensor> inputs,
                                   const StreamOptions& options = {});

}  // namespace halftone

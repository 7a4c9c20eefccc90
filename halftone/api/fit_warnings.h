// SPDX-License-Identifier: Apache-2.0
// What a user should know of a network that was just quantized.
#pragma once

#include <string>
#include <vector>

#include "halftone/compress/quantize.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone {

/// Where the output of a quantized network is far from the float network's: what the worst layers
/// cost, each measured by giving it its float form again. Candidates are those layers behind which
/// the outputs of layers are worst beside those before them.
/// @param graph  the float network on which the fit was made
/// @return       a line for each layer that costs 3 dB or more, the worst first; empty if the
/// output
///               has 20 dB or more
std::vector<std::string> costly_layers(const ir::Graph& graph,
                                       const compress::QuantizeResult& result,
                                       const data::Dataset& data,
                                       const compress::QuantizeOptions& options);

/// A line if layers are estimated to be slower on this processor than in float32.
std::vector<std::string> slow_layers(const ir::Graph& quantized);

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// The weights of a layer as programmed arrays represent them, for training with their noise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/accel/crossbar/device.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/tensor.h"

namespace halftone::crossbar {

/// Arrays::seen_weights() of all groups of a layer, plus the offset of each output. With the value
/// l of code 0 of the input, which gives no pulse, the layer computes, apart from the steps of
/// converters and the noise of reads,
///
///     y = seen (x - l) + w l + bias
///
/// for the weights w of the codes: without pulses nothing is read, and what remains is digital.
/// @param weights  of the node
/// @param seed     of all layers, as in layer_kernel()
/// @return         [outputs, inputs] seen; nothing for a digital layer
/// @throws Error   as Arrays
std::optional<std::vector<float>> inexact_layer(const ir::Graph& graph, const ir::Node& node,
                                                const ir::EncodedTensor& weights,
                                                const CrossbarDevice& device, std::uint64_t seed);

}  // namespace halftone::crossbar

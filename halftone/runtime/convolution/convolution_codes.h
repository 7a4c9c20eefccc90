// SPDX-License-Identifier: Apache-2.0
// What the ways to convolve codes ask of a Conv.
#pragma once

#include <optional>
#include <string>

#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// The geometry of a Conv for the kernels.
/// @pre one to three spatial axes, all extents known
kernels::ConvShape conv_shape(const NodeContext& context);

/// Why the weights of a Conv cannot be packed as codes for an encoded input; nothing if they can.
std::optional<std::string> why_not_coded_conv(const ir::Graph& graph, const ir::Node& node);

/// Whether a Conv runs on the codes of its input, which lie in this way, and not on decoded
/// numbers.
bool is_coded_conv(const ir::Graph& graph, const ir::Node& node, CodeLayout layout);

}  // namespace halftone::runtime

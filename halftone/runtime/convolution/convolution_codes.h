// SPDX-License-Identifier: Apache-2.0
// Geometry and checks shared by the convolutions of codes.
#pragma once

#include <optional>
#include <string>

#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The geometry of a Conv for the kernels.
/// @pre one to three spatial axes, all extents known
kernels::ConvShape conv_shape(const NodeContext& context);

/// Whether windows are of a size that the kernels support.
bool has_usual_window(const ir::Graph& graph, const ir::Node& node);

/// Why the weights of a Conv cannot be packed as codes for an encoded input; nothing if they can.
std::optional<std::string> why_not_coded_conv(const NodeContext& context);

}  // namespace halftone::runtime

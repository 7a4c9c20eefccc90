// SPDX-License-Identifier: Apache-2.0
// Geometry shared by convolutions and pooling.
#pragma once

#include <array>
#include <span>

#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The axes of a window for the kernels.
/// @param x, y  shapes of the input and the output, [N, spatial..., C]
/// @pre one to three spatial axes, all extents known
std::array<kernels::ConvAxis, 3> conv_axes(const ir::Window& window,
                                           std::span<const ir::Dim> kernel, const ir::Shape& x,
                                           const ir::Shape& y);

/// The geometry of a Conv for the kernels.
/// @pre one to three spatial axes, all extents known
kernels::ConvShape conv_shape(const NodeContext& context);

/// That of a FullyConnected as a Conv whose kernel has one tap.
kernels::ConvShape pointwise_shape(std::size_t pixels, std::size_t channels, std::size_t outputs);

}  // namespace halftone::runtime

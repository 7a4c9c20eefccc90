// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/convolution/convolution_codes.h"

#include <algorithm>

namespace halftone::runtime {
namespace {

constexpr std::size_t kMaxSpatialAxes = 3;

/// Output pixels of a line that fill the tiles of the kernels.
constexpr std::size_t kLongLine = 32;

/// A pointwise convolution with other axes over the same pixels: lines of kLongLine pixels or
/// somewhat more, where short lines would leave the tiles of the kernels half empty.
void lengthen_lines(kernels::ConvShape& shape) {
  if (!shape.is_pointwise()) return;
  auto& axes = shape.axes;
  const std::size_t pixels = axes[0].output * axes[1].output * axes[2].output;
  std::size_t length = std::min(kLongLine, pixels);
  while (length != 0 && pixels % length != 0) ++length;
  if (length <= axes[2].output) return;
  axes[0].input = axes[0].output = 1;
  axes[1].input = axes[1].output = pixels / length;
  axes[2].input = axes[2].output = length;
}

}  // namespace

std::array<kernels::ConvAxis, 3> conv_axes(const ir::Window& window,
                                           std::span<const ir::Dim> kernel, const ir::Shape& x,
                                           const ir::Shape& y) {
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  std::array<kernels::ConvAxis, kMaxSpatialAxes> axes;
  const std::size_t rank = window.rank();
  for (std::size_t i = 0; i < rank; ++i) {
    axes[kMaxSpatialAxes - rank + i] = {extent(x[i + 1]),
                                        extent(y[i + 1]),
                                        extent(kernel[i]),
                                        extent(window.strides[i]),
                                        extent(window.dilations[i]),
                                        extent(window.pads_before[i])};
  }
  return axes;
}

kernels::ConvShape conv_shape(const NodeContext& context) {
  const auto& op = context.op<ir::Conv>();
  const ir::Shape& x = context.input(0).shape;
  const ir::Shape& w = context.input(1).shape;
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  kernels::ConvShape shape{extent(x[0]),
                           conv_axes(op.window, ir::kernel_extents(w), x, context.output().shape),
                           extent(x.back()), extent(w[0]), extent(op.groups)};
  lengthen_lines(shape);
  return shape;
}

kernels::ConvShape pointwise_shape(std::size_t pixels, std::size_t channels, std::size_t outputs) {
  kernels::ConvShape shape{1, {}, channels, outputs, 1};
  shape.axes[1].input = shape.axes[1].output = pixels;
  lengthen_lines(shape);
  return shape;
}

}  // namespace halftone::runtime

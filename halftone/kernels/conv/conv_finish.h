// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/conv/conv_shape.h"

namespace halftone::kernels {

/// The final step of a convolution, while its outputs are in registers:
/// y = min(max(sums + residual, low), high).
struct ConvFinish {
  MatrixView<const float> residual{};  ///< [pixels of y, outputs]; no rows: none
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] bool clamps() const {
    return low != -std::numeric_limits<float>::infinity() ||
           high != std::numeric_limits<float>::infinity();
  }
};

/// Lines [begin, end) of the outputs of a convolution: the share of one caller.
struct LineRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t count() const { return end - begin; }
};

/// Some lines of a convolution's outputs, which one call computes.
struct ConvPart {
  LineRange lines;  ///< which lines to compute
  ConvFinish finish;
  std::span<std::byte> scratch;  ///< [scratch_bytes() of the weights], aligned to 64
  MatrixView<float> y;           ///< [pixels of `lines`, outputs], as the residual
};

/// The same for sums of integers, which have no final step.
struct IntegerConvPart {
  LineRange lines;
  std::span<std::byte> scratch;
  MatrixView<std::int32_t> y;
};

/// Whether the lines exist and y has the extents of their pixels.
template <typename Number>
bool are_outputs(const MatrixView<Number>& y, const ConvShape& shape, LineRange lines) {
  return lines.begin <= lines.end && lines.end <= shape.num_lines() &&
         y.rows() == lines.count() * shape.line_pixels() && y.cols() == shape.outputs;
}

}  // namespace halftone::kernels

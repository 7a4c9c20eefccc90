// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// What follows a convolution while its outputs are in registers:
/// y = min(max(sums + residual, low), high).
struct ConvFinish {
  MatrixView<const float> residual{};  ///< [pixels, outputs]; no rows: none
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
};

}  // namespace halftone::kernels

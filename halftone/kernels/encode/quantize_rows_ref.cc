// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/kernels/encode/quantize_rows.h"

namespace halftone::kernels {

void quantize_rows_reference(MatrixView<const float> values, MatrixView<std::int8_t> q,
                             std::span<float> scales) noexcept {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    float largest = 0;
    bool finite = true;
    for (const float x : values.row(r)) {
      finite = finite && std::isfinite(x);
      largest = std::max(largest, std::abs(x));
    }
    const float steps = kInt8Range / largest;
    const bool zero = !finite || std::isinf(steps);
    for (std::size_t c = 0; c < values.cols(); ++c) {
      q(r, c) = zero ? std::int8_t{0} : static_cast<std::int8_t>(std::lrint(values(r, c) * steps));
    }
    scales[r] = !finite ? std::numeric_limits<float>::quiet_NaN() : zero ? 0 : largest / kInt8Range;
  }
}

}  // namespace halftone::kernels

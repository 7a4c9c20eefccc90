// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/kernels/encode.h"

namespace halftone::kernels {

void encode_reference(MatrixView<const float> values, const EncodeTable& table,
                      std::span<std::uint64_t> planes) noexcept {
  const std::size_t words = words_for_bits(values.cols());
  std::fill(planes.begin(), planes.end(), 0);
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < values.cols(); ++c) {
      std::size_t level = 0;
      for (const float t : table.thresholds()) level += values(r, c) > t;
      const auto code = static_cast<std::uint64_t>(table.codes()[level]);
      for (std::size_t j = 0; j < table.bits(); ++j) {
        planes[(r * table.bits() + j) * words + c / 64] |= (code >> j & 1) << (c % 64);
      }
    }
  }
}

}  // namespace halftone::kernels

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/encode_int8.h"

namespace halftone::kernels {
namespace {

std::size_t code_of(float x, const EncodeTable& table) {
  if (table.beyond()) {
    if (const numerics::Beyond::Special* special = table.beyond()->find(x)) return special->code;
  }
  std::size_t level = 0;
  for (const float t : table.thresholds()) level += x > t;
  return table.codes()[level];
}

}  // namespace

void encode_reference(MatrixView<const float> values, const EncodeTable& table,
                      std::span<std::uint64_t> planes) noexcept {
  const std::size_t words = words_for_bits(values.cols());
  std::fill(planes.begin(), planes.end(), 0);
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < values.cols(); ++c) {
      const std::uint64_t code = code_of(values(r, c), table);
      for (std::size_t j = 0; j < table.bits(); ++j) {
        planes[(r * table.bits() + j) * words + c / 64] |= (code >> j & 1) << (c % 64);
      }
    }
  }
}

void encode_int8_reference(MatrixView<const float> values, const EncodeTable& table,
                           const Int8Levels& levels, MatrixView<std::int8_t> q) noexcept {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < values.cols(); ++c) {
      q(r, c) = levels.q[code_of(values(r, c), table)];
    }
  }
}

}  // namespace halftone::kernels

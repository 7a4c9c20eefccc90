// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/decode.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/base/bits.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/encode.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// At least `count` bits of a row of words from bit `first` on, count <= 32, in the low bits.
HWY_INLINE std::uint64_t BitsFrom(const std::uint64_t* words, std::size_t first,
                                  std::size_t count) {
  const std::size_t shift = first % 64;
  std::uint64_t bits = words[first / 64] >> shift;
  if (shift + count > 64) bits |= words[first / 64 + 1] << (64 - shift);
  return bits;
}

/// Columns [first, first + count) of one row, all of one basis.
/// @param planes  [K, words] of the row
/// @param out     [count]
void DecodeRun(const std::uint64_t* HWY_RESTRICT planes, std::size_t words,
               const numerics::Basis& basis, std::size_t first, std::size_t count,
               float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t c = 0; c < count; c += lanes) {
    const std::size_t valid = std::min(lanes, count - c);
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < static_cast<std::size_t>(basis.bits); ++i) {
      const std::uint64_t bits = BitsFrom(planes + i * words, first + c, valid);
      std::uint8_t bytes[8];
      std::memcpy(bytes, &bits, sizeof(bits));
      const auto a = hn::Set(d, basis.coefficients[i]);
      const auto term = hn::IfThenElse(hn::LoadMaskBits(d, bytes), a, hn::Neg(a));
      sum = i == 0 ? term : hn::Add(sum, term);
    }
    sum = hn::Add(sum, hn::Set(d, basis.offset));
    if (valid == lanes) {
      hn::StoreU(sum, d, out + c);
    } else {
      alignas(64) float tail[hn::MaxLanes(d)];
      hn::Store(sum, d, tail);
      std::memcpy(out + c, tail, valid * sizeof(float));
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(DecodeRun);

namespace {

/// Columns from `first` on of one row, all of one block.
/// @param planes  [K, words] of the row
void decode_run(std::span<const std::uint64_t> planes, const numerics::Levels& levels,
                std::size_t first, std::span<float> out) {
  const std::size_t words = planes.size() / static_cast<std::size_t>(levels.bits());
  if (levels.codebook() == nullptr) {
    HALFTONE_DISPATCH(DecodeRun)
    (planes.data(), words, levels.basis(), first, out.size(), out.data());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t c = first + i;
    unsigned code = 0;
    for (int j = 0; j < levels.bits(); ++j) {
      const std::uint64_t word = planes[static_cast<std::size_t>(j) * words + c / 64];
      code |= static_cast<unsigned>(word >> c % 64 & 1) << j;
    }
    out[i] = levels.value(static_cast<numerics::Code>(code));
  }
}

}  // namespace

void decode(std::span<const std::uint64_t> planes, const numerics::Levels& levels,
            MatrixView<float> values) noexcept {
  const std::size_t words = words_for_bits(values.cols());
  const std::size_t row_words = static_cast<std::size_t>(levels.bits()) * words;
  HALFTONE_ASSERT(planes.size() == values.rows() * row_words);
  for (std::size_t r = 0; r < values.rows(); ++r) {
    decode_run(planes.subspan(r * row_words, row_words), levels, 0, values.row(r));
  }
}

void decode(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
            std::size_t first_row, MatrixView<float> values) noexcept {
  HALFTONE_ASSERT(first_row + values.rows() <= codes.rows && values.cols() == codes.cols);
  const std::size_t row_words = static_cast<std::size_t>(codes.bits) * codes.planes.row_words();
  const std::size_t groups = encoding.groups_per_row(codes.cols);
  const std::size_t width =
      encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size : codes.cols;
  for (std::size_t r = 0; r < values.rows(); ++r) {
    const auto planes = codes.planes.words().subspan((first_row + r) * row_words, row_words);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * width;
      decode_run(planes, encoding.levels(first_row + r, g, codes.cols), first,
                 values.row(r).subspan(first, std::min(width, codes.cols - first)));
    }
  }
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE

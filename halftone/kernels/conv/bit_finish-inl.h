// SPDX-License-Identifier: Apache-2.0
// The last step of bit_conv(): converts the counts of some windows to outputs.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BIT_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BIT_FINISH_INL_H_
#undef HALFTONE_KERNELS_CONV_BIT_FINISH_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BIT_FINISH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = BitConvWeights::kBlock;

/// Some neighbouring output pixels of a line.
struct Tile {
  std::size_t group;
  std::size_t first_pixel;  ///< of y
  std::size_t x;            ///< the first one in its line
  std::size_t count;
  std::size_t row;           ///< of the strip, where its windows begin
  std::size_t line_pattern;  ///< see PaddingPatterns::line()
};

/// The constants that convert the counts of a block to outputs. It is a local copy, so that the
/// compiler knows that no output overwrites it.
struct BlockFloats {
  const float* base;      ///< of pattern 0
  const float* products;  ///< of digit 0 and plane 0
  const float* offsets;   ///< null: there are none
  std::size_t row;        ///< from a row to the next
  std::size_t digits;
  std::size_t w_bits;
  std::size_t plane_counts;  ///< from the counts of a plane of the weights to the next
  std::size_t digit_counts;  ///< the same for a digit
  std::array<float, numerics::kMaxBits> half_n{};  ///< M n / 2 of each digit
};

/// @param column  of the first output of the block
template <std::size_t kDigits, std::size_t kWBits>
HWY_INLINE BlockFloats FloatsOf(const BitConvWeights& w, std::size_t column,
                                std::size_t plane_counts, std::size_t digit_counts) {
  BlockFloats floats{w.base(0) + column,
                     w.products(0, 0) + column,
                     w.has_offset() ? w.offsets() + column : nullptr,
                     w.float_row(),
                     kDigits == 0 ? w.digits().size() : kDigits,
                     kWBits == 0 ? w.bits() : kWBits,
                     plane_counts,
                     digit_counts,
                     {}};
  for (std::size_t i = 0; i < floats.digits; ++i) {
    floats.half_n[i] =
        0.5F * static_cast<float>(w.digits()[i].reach()) * static_cast<float>(w.shape().inputs());
  }
  return floats;
}

/// Counts as floats. Every method sums them in 16 or in 32 bits.
template <class D>
HWY_INLINE hn::Vec<D> LoadCounts(D d, const std::uint16_t* HWY_RESTRICT counts) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> d16;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d16, counts)));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadCounts(D d, const std::int32_t* HWY_RESTRICT counts) {
  return hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<D>(), counts));
}

/// A vector of outputs, from lane `o` of the counts on. (2 u a_j) (M n / 2 - count) is exactly
/// (u a_j) D_dj before it is rounded.
/// @param counts  from the first digit and plane of the pixel on
template <class D, class Count>
HWY_INLINE hn::Vec<D> SumPlanes(D d, const BlockFloats& floats, const Count* HWY_RESTRICT counts,
                                std::size_t pattern, float row_sum, std::size_t o) {
  auto acc = hn::LoadU(d, floats.base + pattern * floats.row + o);
  const float* product = floats.products + o;
  for (std::size_t i = 0; i < floats.digits; ++i) {
    const auto half_n = hn::Set(d, floats.half_n[i]);
    for (std::size_t j = 0; j < floats.w_bits; ++j, product += floats.row) {
      const Count* from = counts + j * floats.plane_counts + i * floats.digit_counts + o;
      const auto count = LoadCounts(d, from);
      acc = hn::Add(acc, hn::Mul(hn::LoadU(d, product), hn::Sub(half_n, count)));
    }
  }
  if (floats.offsets != nullptr) {
    acc = hn::Add(acc, hn::Mul(hn::LoadU(d, floats.offsets + o), hn::Set(d, row_sum)));
  }
  return acc;
}

/// What the windows of a tile give for a block.
template <class Count>
struct BlockSums {
  const Count* counts;  ///< [Kw, plane_counts] of the block
  std::size_t plane_counts;
  const float* row_sums;  ///< of each pixel; null: the weights have no offsets
};

/// FinishBlock for whole blocks that fit a vector: keeps what is the same for all pixels in
/// registers.
template <class Count, std::size_t kDigits, std::size_t kWBits>
void FinishVectors(const BlockFloats& floats, const Tile& tile, const std::size_t* patterns,
                   const BlockSums<Count>& sums, Finisher to) {
  const hn::CappedTag<float, kBlock> d;
  using V = hn::Vec<decltype(d)>;
  V products[kDigits][kWBits];
  for (std::size_t i = 0; i < kDigits; ++i) {
    for (std::size_t j = 0; j < kWBits; ++j) {
      products[i][j] = hn::LoadU(d, floats.products + (i * kWBits + j) * floats.row);
    }
  }
  const bool has_offsets = floats.offsets != nullptr;
  const V offsets = has_offsets ? hn::LoadU(d, floats.offsets) : hn::Zero(d);
  const float* const bases = floats.base + tile.line_pattern * floats.row;
  const Count* HWY_RESTRICT counts = sums.counts;
  for (std::size_t t = 0; t < tile.count; ++t, counts += kBlock) {
    V acc = hn::LoadU(d, bases + patterns[t] * floats.row);
    for (std::size_t i = 0; i < kDigits; ++i) {
      const V half_n = hn::Set(d, floats.half_n[i]);
      for (std::size_t j = 0; j < kWBits; ++j) {
        const Count* from = counts + j * floats.plane_counts + i * floats.digit_counts;
        acc = hn::Add(acc, hn::Mul(products[i][j], hn::Sub(half_n, LoadCounts(d, from))));
      }
    }
    if (has_offsets) acc = hn::Add(acc, hn::Mul(offsets, hn::Set(d, sums.row_sums[t])));
    to.Store(d, acc, 0);
    to.NextPixel();
  }
}

/// The outputs of a block of all pixels of a tile. The numbers of digits and bits are compile-time
/// constants, or 0.
template <class Count, std::size_t kDigits, std::size_t kWBits>
void FinishBlock(const BitConvWeights& w, const Tile& tile, std::size_t block,
                 const BlockSums<Count>& sums, const ConvPart& part) {
  const Count* HWY_RESTRICT counts = sums.counts;
  const float* HWY_RESTRICT row_sums = sums.row_sums;
  const std::size_t group_outputs = w.shape().group_outputs();
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const BlockFloats floats =
      FloatsOf<kDigits, kWBits>(w, column, sums.plane_counts, tile.count * kBlock);
  const std::size_t valid = std::min(kBlock, group_outputs - block * kBlock);
  const std::size_t* HWY_RESTRICT patterns = w.patterns().along_line().data() + tile.x;
  const std::size_t num_pixels = tile.count;
  const std::size_t line_pattern = tile.line_pattern;
  Finisher to(part.finish, part.y, tile.first_pixel, tile.group * group_outputs + block * kBlock);
  if constexpr (kDigits != 0 && hn::MaxLanes(hn::CappedTag<float, kBlock>()) == kBlock) {
    if (valid == kBlock) {
      return FinishVectors<Count, kDigits, kWBits>(floats, tile, patterns, sums, to);
    }
  }
  for (std::size_t t = 0; t < num_pixels; ++t, counts += kBlock) {
    const std::size_t pattern = line_pattern + patterns[t];
    const float row_sum = row_sums == nullptr ? 0 : row_sums[t];
    if (valid == kBlock) {
      const hn::CappedTag<float, kBlock> d;
      for (std::size_t o = 0; o < kBlock; o += hn::Lanes(d)) {
        to.Store(d, SumPlanes(d, floats, counts, pattern, row_sum, o), o);
      }
    } else {
      const hn::CappedTag<float, 8> d;
      for (std::size_t o = 0; o < valid; o += hn::Lanes(d)) {
        const auto some = SumPlanes(d, floats, counts, pattern, row_sum, o);
        to.StoreSome(d, some, std::min(hn::Lanes(d), valid - o), o);
      }
    }
    to.NextPixel();
  }
}

template <class Count>
using FinishFunction = void (*)(const BitConvWeights&, const Tile&, std::size_t,
                                const BlockSums<Count>&, const ConvPart&);

/// FinishBlock, with the loops over planes unrolled for few of them.
template <class Count>
FinishFunction<Count> ChooseFinish(const BitConvWeights& w) {
  const std::size_t digits = w.digits().size();
  if (digits == 1 && w.bits() == 1) return FinishBlock<Count, 1, 1>;
  if (digits == 1 && w.bits() == 2) return FinishBlock<Count, 1, 2>;
  if (digits == 2 && w.bits() == 1) return FinishBlock<Count, 2, 1>;
  if (digits == 2 && w.bits() == 2) return FinishBlock<Count, 2, 2>;
  return FinishBlock<Count, 0, 0>;
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

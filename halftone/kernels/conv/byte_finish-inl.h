// SPDX-License-Identifier: Apache-2.0
// The outputs of byte_conv() and integer_conv() from their sums of products.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BYTE_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BYTE_FINISH_INL_H_
#undef HALFTONE_KERNELS_CONV_BYTE_FINISH_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BYTE_FINISH_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = ByteConvLevels::kBlock;

/// Some neighbouring output pixels of a line.
struct ByteTile {
  std::size_t group;
  std::size_t first_pixel;  ///< of y
  std::size_t x;            ///< the first one in its line
  std::size_t count;
  std::size_t row;           ///< of the strip where its windows begin
  std::size_t line_pattern;  ///< see PaddingPatterns::line()
};

/// What the windows of a tile give for a block.
struct ByteSums {
  const std::int32_t (*products)[kBlock];  ///< [count]
  const std::int32_t* window_sums;         ///< [count]
  std::int32_t offset;                     ///< subtracted from the levels
};

/// Calls outputs(t, where the pattern's row of numbers begins, first output) for each vector of
/// outputs of a block, for all pixels of a tile, and stores what it returns.
/// @tparam D  vectors; those of fewer lanes have less to store that does not fill one
template <class D, class To, class Outputs>
HWY_INLINE void StoreOutputs(const ByteConvLevels& w, const ByteTile& tile, std::size_t valid,
                             To to, const Outputs& outputs) {
  const D d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const std::size_t* patterns = w.patterns().along_line().data() + tile.x;
  const std::size_t line_pattern = tile.line_pattern;
  const std::size_t row = w.row_outputs();
  const std::size_t count = tile.count;
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t base = (line_pattern + patterns[t]) * row;
    if constexpr (kLanes == kBlock) {
      to.Store(d, outputs(t, base, 0), 0);  // only used for whole blocks
    } else {
      for (std::size_t o = 0; o < valid; o += kLanes) {
        if (o + kLanes <= valid) {
          to.Store(d, outputs(t, base, o), o);
        } else {
          to.StoreSome(d, outputs(t, base, o), valid - o, o);
        }
      }
    }
    to.NextPixel();
  }
}

/// The outputs of a block of all pixels of a tile.
/// @tparam D  vectors of float, as of StoreOutputs()
template <class D>
void FinishBytes(const ByteConvWeights& w, const ByteTile& tile, std::size_t block,
                 std::size_t valid, const ByteSums& sums, const ConvPart& part) {
  const std::int32_t* window_sums = sums.window_sums;
  const D d;
  const hn::RebindToSigned<D> di;
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const float* const bases = w.base(0) + column;
  const float* const half_steps = w.half_steps() + column;
  const float* const centers = w.centers() + column;
  const std::int32_t steps = w.steps() - 2 * sums.offset;
  const Finisher to(part.finish, part.y, tile.first_pixel,
                    tile.group * w.shape().group_outputs() + block * kBlock);
  StoreOutputs<D>(w, tile, valid, to, [&](std::size_t t, std::size_t base, std::size_t o) HWY_ATTR {
    const auto window_sum = hn::Set(di, window_sums[t]);
    const auto less = hn::Mul(hn::Set(di, steps), window_sum);
    const auto p = hn::LoadU(di, sums.products[t] + o);
    const auto odd = hn::ConvertTo(d, hn::Sub(hn::Add(p, p), less));
    const auto acc =
        hn::Add(hn::LoadU(d, bases + base + o), hn::Mul(hn::LoadU(d, half_steps + o), odd));
    return hn::Add(acc, hn::Mul(hn::LoadU(d, centers + o), hn::ConvertTo(d, window_sum)));
  });
}

/// The same for integers.
template <class D>
void FinishBytes(const IntegerConvWeights& w, const ByteTile& tile, std::size_t block,
                 std::size_t valid, const ByteSums& sums, const IntegerConvPart& part) {
  const hn::RebindToSigned<D> d;
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const std::int32_t* const bases = w.base(0) + column;
  const std::int32_t* const zeros = w.zeros() + column;
  const auto offset = hn::Set(d, sums.offset);
  const std::int32_t* window_sums = sums.window_sums;
  const IntegerWriter to(part.y, tile.first_pixel,
                         tile.group * w.shape().group_outputs() + block * kBlock);
  StoreOutputs<decltype(d)>(
      w, tile, valid, to, [&](std::size_t t, std::size_t base, std::size_t o) HWY_ATTR {
        const auto sum =
            hn::Add(hn::LoadU(d, bases + base + o), hn::LoadU(d, sums.products[t] + o));
        const auto zero = hn::Sub(hn::LoadU(d, zeros + o), offset);
        return hn::Sub(sum, hn::Mul(zero, hn::Set(d, window_sums[t])));
      });
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

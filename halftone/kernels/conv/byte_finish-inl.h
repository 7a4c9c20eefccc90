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

/// The terms of a section and block of outputs.
class SectionTerms {
 public:
  /// @param column  of the block
  HWY_INLINE SectionTerms(const ByteConvWeights& w, std::size_t section, std::size_t column,
                          const ByteSums& sums)
      : half_steps_(w.half_steps(section) + column),
        centers_(w.centers(section) + column),
        steps_(w.steps() - 2 * sums.offset),
        has_centers_(w.has_centers()),
        sums_(sums) {}

  /// acc + those of outputs from `o` on of pixel `t`.
  template <class D>
  HWY_INLINE hn::Vec<D> AddTo(D d, hn::Vec<D> acc, std::size_t t, std::size_t o) const {
    const hn::RebindToSigned<D> di;
    const auto window_sum = hn::Set(di, sums_.window_sums[t]);
    const auto less = hn::Mul(hn::Set(di, steps_), window_sum);
    const auto p = hn::LoadU(di, sums_.products[t] + o);
    const auto odd = hn::ConvertTo(d, hn::Sub(hn::Add(p, p), less));
    acc = hn::Add(acc, hn::Mul(hn::LoadU(d, half_steps_ + o), odd));
    if (!has_centers_) return acc;
    return hn::Add(acc, hn::Mul(hn::LoadU(d, centers_ + o), hn::ConvertTo(d, window_sum)));
  }

 private:
  const float* half_steps_;
  const float* centers_;
  std::int32_t steps_;
  bool has_centers_;
  ByteSums sums_;
};

/// The outputs of a block of all pixels of a tile, of weights in one section.
/// @tparam D  vectors of float, as of StoreOutputs()
template <class D>
void FinishBytes(const ByteConvWeights& w, const ByteTile& tile, std::size_t block,
                 std::size_t valid, const ByteSums& sums, const ConvPart& part) {
  const D d;
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const float* const bases = w.base(0) + column;
  const SectionTerms terms(w, 0, column, sums);
  const Finisher to(part.finish, part.y, tile.first_pixel,
                    tile.group * w.shape().group_outputs() + block * kBlock);
  StoreOutputs<D>(w, tile, valid, to, [&](std::size_t t, std::size_t base, std::size_t o) HWY_ATTR {
    return terms.AddTo(d, hn::LoadU(d, bases + base + o), t, o);
  });
}

/// acc[t] = base of pixel t, for a block of all pixels of a tile.
/// @param acc  [count, 16]
inline void StartSections(const ByteConvWeights& w, const ByteTile& tile, std::size_t block,
                          float* HWY_RESTRICT acc) {
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const std::size_t* patterns = w.patterns().along_line().data() + tile.x;
  for (std::size_t t = 0; t < tile.count; ++t) {
    std::copy_n(w.base(tile.line_pattern + patterns[t]) + column, kBlock, acc + t * kBlock);
  }
}

/// acc += the terms of a section, for a block of all pixels of a tile.
inline void AddSection(const ByteConvWeights& w, const ByteTile& tile, std::size_t block,
                       std::size_t section, const ByteSums& sums, float* HWY_RESTRICT acc) {
  const hn::CappedTag<float, kBlock> d;
  const SectionTerms terms(w, section, (tile.group * w.blocks() + block) * kBlock, sums);
  for (std::size_t o = 0; o < kBlock; o += hn::Lanes(d)) {
    for (std::size_t t = 0; t < tile.count; ++t) {
      float* const to = acc + t * kBlock + o;
      hn::StoreU(terms.AddTo(d, hn::LoadU(d, to), t, o), d, to);
    }
  }
}

/// The outputs of a block of all pixels of a tile, whose sections were added.
template <class D>
void FinishSections(const ByteConvWeights& w, const ByteTile& tile, std::size_t block,
                    std::size_t valid, const float* acc, const ConvPart& part) {
  const Finisher to(part.finish, part.y, tile.first_pixel,
                    tile.group * w.shape().group_outputs() + block * kBlock);
  StoreOutputs<D>(w, tile, valid, to,
                  [&](std::size_t t, std::size_t /*base*/, std::size_t o)
                      HWY_ATTR { return hn::LoadU(D(), acc + t * kBlock + o); });
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

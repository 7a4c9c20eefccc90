// SPDX-License-Identifier: Apache-2.0
// The two products of attention, once per target: tiles of queries whose sums stay in registers.
// Lanes are keys in the first and numbers of a value in the second, so that the order of a sum does
// not depend on the vector length. Multiplications and additions stay separate.
#if defined(HALFTONE_KERNELS_ATTEND_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_ATTEND_TILES_INL_H_
#undef HALFTONE_KERNELS_ATTEND_TILES_INL_H_
#else
#define HALFTONE_KERNELS_ATTEND_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "halftone/kernels/attention/cache.h"
#include "halftone/kernels/attention/stored-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TokenTag = hn::CappedTag<float, CacheShape::kPanelTokens>;
/// Vectors of a panel.
constexpr std::size_t kTokenVectors = CacheShape::kPanelTokens / hn::MaxLanes(TokenTag());
/// Queries of a tile, at most.
constexpr std::size_t kTileQueries = 4;
/// Panels of a tile: 8 sums hide the latency of an addition. More than 4 streams, whose distance is
/// often a power of two, would share too few lines of the cache.
constexpr std::size_t TilePanels(std::size_t queries) {
  return std::clamp<std::size_t>(8 / (queries * kTokenVectors), 1, 4);
}
/// Vectors of values of a tile, beside which the registers hold what the sums are made of.
constexpr std::size_t TileVectors(std::size_t queries) {
  const std::size_t vectors = kTokenVectors == 1 ? 16 : 8;
  return std::min<std::size_t>(vectors / queries, 8);
}

/// scores[r][panel t] = q_r . k_t for the keys of some panels.
/// @param step  numbers from one panel to the next
template <std::size_t kQueries, std::size_t kPanels, class T>
HWY_NOINLINE void ScoreTile(const float* const* queries, const T* HWY_RESTRICT panels,
                            std::size_t step, std::size_t size, float* const* scores) {
  constexpr std::size_t kVectors = kPanels * kTokenVectors;
  const TokenTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<TokenTag> sums[kQueries][kVectors];
  const float* HWY_RESTRICT q[kQueries];
  for (std::size_t r = 0; r < kQueries; ++r) {
    q[r] = queries[r];
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < size; ++i, panels += CacheShape::kPanelTokens) {
    hn::Vec<TokenTag> keys[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      keys[v] = Keep(LoadStored(d, panels + v / kTokenVectors * step + v % kTokenVectors * lanes));
    }
    for (std::size_t r = 0; r < kQueries; ++r) {
      const auto number = hn::Set(d, q[r][i]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = Keep(hn::Add(sums[r][v], hn::Mul(number, keys[v])));
      }
    }
  }
  for (std::size_t r = 0; r < kQueries; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, scores[r] + v * lanes);
  }
}

/// Some panels for up to kQueries queries.
template <class T, std::size_t kQueries = kTileQueries>
HWY_INLINE void ScorePanels(const float* const* queries, std::size_t count, const T* panels,
                            std::size_t step, std::size_t size, float* const* scores,
                            std::size_t num_panels) {
  if constexpr (kQueries > 1) {
    if (count < kQueries) {
      return ScorePanels<T, kQueries - 1>(queries, count, panels, step, size, scores, num_panels);
    }
  }
  constexpr std::size_t kPanels = TilePanels(kQueries);
  float* to[kQueries];
  for (std::size_t p = 0; p < num_panels;) {
    for (std::size_t r = 0; r < kQueries; ++r) to[r] = scores[r] + p * CacheShape::kPanelTokens;
    if (p + kPanels <= num_panels) {
      ScoreTile<kQueries, kPanels>(queries, panels + p * step, step, size, to);
      p += kPanels;
    } else {
      ScoreTile<kQueries, 1>(queries, panels + p * step, step, size, to);
      ++p;
    }
  }
}

/// sums[r][i] += weights[r][t] values[t][i] for kVectors vectors of i, in the order of t.
/// @param row  numbers from one value to the next
template <std::size_t kQueries, std::size_t kVectors, class T>
HWY_INLINE void AddValueTile(const float* const* weights, const T* HWY_RESTRICT values,
                             std::size_t row, std::size_t tokens, float* const* sums,
                             std::size_t begin) {
  const TokenTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<TokenTag> sum[kQueries][kVectors];
  const float* HWY_RESTRICT w[kQueries];
  for (std::size_t r = 0; r < kQueries; ++r) {
    w[r] = weights[r];
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::LoadU(d, sums[r] + begin + v * lanes);
    }
  }
  values += begin;
  for (std::size_t t = 0; t < tokens; ++t, values += row) {
    hn::Vec<TokenTag> numbers[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      numbers[v] = Keep(LoadStored(d, values + v * lanes));
    }
    for (std::size_t r = 0; r < kQueries; ++r) {
      const auto weight = hn::Set(d, w[r][t]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = Keep(hn::Add(sum[r][v], hn::Mul(weight, numbers[v])));
      }
    }
  }
  for (std::size_t r = 0; r < kQueries; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], d, sums[r] + begin + v * lanes);
    }
  }
}

/// The same for all numbers of the values; a row has whole panels of them.
template <std::size_t kQueries, class T>
HWY_NOINLINE void AddValueRows(const float* const* weights, const T* values, std::size_t row,
                               std::size_t tokens, float* const* sums) {
  constexpr std::size_t kVectors = TileVectors(kQueries);
  const std::size_t lanes = hn::Lanes(TokenTag());
  std::size_t i = 0;
  for (; i + kVectors * lanes <= row; i += kVectors * lanes) {
    AddValueTile<kQueries, kVectors>(weights, values, row, tokens, sums, i);
  }
  for (; i < row; i += lanes) {
    AddValueTile<kQueries, 1>(weights, values, row, tokens, sums, i);
  }
}

/// The same for up to kQueries queries.
template <class T, std::size_t kQueries = kTileQueries>
HWY_INLINE void AddValues(const float* const* weights, std::size_t count, const T* values,
                          std::size_t row, std::size_t tokens, float* const* sums) {
  if constexpr (kQueries > 1) {
    if (count < kQueries) {
      return AddValues<T, kQueries - 1>(weights, count, values, row, tokens, sums);
    }
  }
  AddValueRows<kQueries>(weights, values, row, tokens, sums);
}

/// Numbers to floats.
/// @param count  a multiple of 16
template <class T>
HWY_NOINLINE void Convert(const T* HWY_RESTRICT from, std::size_t count, float* HWY_RESTRICT to) {
  const TokenTag d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(LoadStored(d, from + i), d, to + i);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_ATTEND_TILES_INL_H_

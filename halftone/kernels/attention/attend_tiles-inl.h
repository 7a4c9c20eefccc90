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
#include <cstdint>
#include <cstring>

#include "halftone/kernels/attention/cache.h"
#include "halftone/kernels/attention/stored-inl.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/pair_products-inl.h"

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

/// The arithmetic of stored floats: a lane is a number.
template <class T>
struct Products {
  using Tag = TokenTag;
  using Factor = float;                       ///< what stored numbers are multiplied by
  using Wide = float;                         ///< what many queries convert them to first
  static constexpr std::size_t kNumbers = 1;  ///< of a lane

  static HWY_INLINE hn::Vec<Tag> Broadcast(const float* factor) { return hn::Set(Tag(), *factor); }
  static HWY_INLINE hn::Vec<Tag> Add(hn::Vec<Tag> sum, hn::Vec<Tag> a, hn::Vec<Tag> b) {
    return hn::Add(sum, hn::Mul(a, b));
  }
  static HWY_INLINE hn::Vec<TokenTag> ToFloats(hn::Vec<Tag> sum) { return sum; }
};

/// The arithmetic of stored integers: a lane is a pair.
struct PairProducts {
  using Tag = hn::RebindToSigned<TokenTag>;
  using Factor = std::int16_t;
  using Wide = std::int16_t;
  static constexpr std::size_t kNumbers = 2;

  static HWY_INLINE hn::Vec<Tag> Broadcast(const std::int16_t* factors) {
    std::int32_t pair;
    std::memcpy(&pair, factors, sizeof(pair));
    return hn::Set(Tag(), pair);
  }
  HALFTONE_VNNI static HWY_INLINE hn::Vec<Tag> Add(hn::Vec<Tag> sum, hn::Vec<Tag> a,
                                                   hn::Vec<Tag> b) {
    return AddPairProducts(sum, a, b);
  }
  static HWY_INLINE hn::Vec<TokenTag> ToFloats(hn::Vec<Tag> sum) {
    return hn::ConvertTo(TokenTag(), sum);
  }
};
template <>
struct Products<std::int8_t> : PairProducts {};
template <>
struct Products<std::int16_t> : PairProducts {};

/// What a tile multiplies stored numbers of type T by.
template <class T>
using FactorOf = typename Products<T>::Factor;

/// scores[r][panel t] = q_r . k_t for the keys of some panels.
/// @param step   numbers from one panel to the next
/// @param size   factors of a query
template <std::size_t kQueries, std::size_t kPanels, class T>
HALFTONE_VNNI HWY_NOINLINE void ScoreTile(const FactorOf<T>* const* queries,
                                          const T* HWY_RESTRICT panels, std::size_t step,
                                          std::size_t size, float* const* scores) {
  using P = Products<T>;
  constexpr std::size_t kVectors = kPanels * kTokenVectors;
  const typename P::Tag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<typename P::Tag> sums[kQueries][kVectors];
  const FactorOf<T>* HWY_RESTRICT q[kQueries];
  for (std::size_t r = 0; r < kQueries; ++r) {
    q[r] = queries[r];
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < size;
       i += P::kNumbers, panels += P::kNumbers * CacheShape::kPanelTokens) {
    hn::Vec<typename P::Tag> keys[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      const T* from = panels + v / kTokenVectors * step + v % kTokenVectors * lanes * P::kNumbers;
      keys[v] = Keep(LoadStored(d, from));
    }
    for (std::size_t r = 0; r < kQueries; ++r) {
      const auto factor = P::Broadcast(q[r] + i);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = Keep(P::Add(sums[r][v], factor, keys[v]));
      }
    }
  }
  for (std::size_t r = 0; r < kQueries; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(P::ToFloats(sums[r][v]), TokenTag(), scores[r] + v * lanes);
    }
  }
}

/// Some panels for up to kQueries queries.
template <class T, std::size_t kQueries = kTileQueries>
HWY_INLINE void ScorePanels(const FactorOf<T>* const* queries, std::size_t count, const T* panels,
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

/// sums[r][i] += scales[r] (sum_t weights[r][t] values[t][i]) for kVectors vectors of i; the inner
/// sum is exact.
/// @param row     numbers from one value to the next
/// @param tokens  even
template <std::size_t kQueries, std::size_t kVectors, class T>
HALFTONE_VNNI HWY_INLINE void AddGroupTile(const std::int16_t* const* weights,
                                           const T* HWY_RESTRICT values, std::size_t row,
                                           std::size_t tokens, const float* scales,
                                           float* const* sums, std::size_t begin) {
  using P = Products<T>;
  const TokenTag d;
  const typename P::Tag d32;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<typename P::Tag> sum[kQueries][kVectors];
  const std::int16_t* HWY_RESTRICT w[kQueries];
  for (std::size_t r = 0; r < kQueries; ++r) {
    w[r] = weights[r];
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d32);
  }
  values += 2 * begin;
  for (std::size_t t = 0; t < tokens; t += 2, values += 2 * row) {
    hn::Vec<typename P::Tag> numbers[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      numbers[v] = Keep(LoadStored(d32, values + 2 * v * lanes));
    }
    for (std::size_t r = 0; r < kQueries; ++r) {
      const auto pair = P::Broadcast(w[r] + t);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = Keep(P::Add(sum[r][v], pair, numbers[v]));
      }
    }
  }
  for (std::size_t r = 0; r < kQueries; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const to = sums[r] + begin + v * lanes;
      const auto product = hn::Mul(hn::Set(d, scales[r]), P::ToFloats(sum[r][v]));
      hn::StoreU(hn::Add(hn::LoadU(d, to), product), d, to);
    }
  }
}

/// The same for all numbers of the values.
template <std::size_t kQueries, class T>
HALFTONE_VNNI HWY_NOINLINE void AddGroupRows(const std::int16_t* const* weights, const T* values,
                                             std::size_t row, std::size_t tokens,
                                             const float* scales, float* const* sums) {
  constexpr std::size_t kVectors = TileVectors(kQueries);
  const std::size_t lanes = hn::Lanes(TokenTag());
  std::size_t i = 0;
  for (; i + kVectors * lanes <= row; i += kVectors * lanes) {
    AddGroupTile<kQueries, kVectors>(weights, values, row, tokens, scales, sums, i);
  }
  for (; i < row; i += lanes) {
    AddGroupTile<kQueries, 1>(weights, values, row, tokens, scales, sums, i);
  }
}

/// The same for up to kQueries queries.
template <class T, std::size_t kQueries = kTileQueries>
HWY_INLINE void AddGroup(const std::int16_t* const* weights, std::size_t count, const T* values,
                         std::size_t row, std::size_t tokens, const float* scales,
                         float* const* sums) {
  if constexpr (kQueries > 1) {
    if (count < kQueries) {
      return AddGroup<T, kQueries - 1>(weights, count, values, row, tokens, scales, sums);
    }
  }
  AddGroupRows<kQueries>(weights, values, row, tokens, scales, sums);
}

/// Converts stored numbers to the type that their products are made of.
/// @param count  a multiple of 32
template <class T>
HWY_NOINLINE void Widen(const T* HWY_RESTRICT from, std::size_t count,
                        typename Products<T>::Wide* HWY_RESTRICT to) {
  using P = Products<T>;
  const typename P::Tag d;
  const std::size_t numbers = hn::Lanes(d) * P::kNumbers;
  for (std::size_t i = 0; i < count; i += numbers) {
    StoreStored(d, LoadStored(d, from + i), to + i);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_ATTEND_TILES_INL_H_

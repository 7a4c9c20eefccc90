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
/// The next smaller tile.
constexpr std::size_t SmallerTile(std::size_t queries) {
  return queries > 4 ? queries - 4 : queries - 1;
}

/// A number of queries that is known when this is compiled.
template <std::size_t kQueries>
struct TileSize {
  static constexpr std::size_t value = kQueries;
};

/// Calls visit(first query, TileSize) for tiles of `count` queries, of at most kQueries.
template <std::size_t kQueries, class Visit>
HWY_INLINE void ForTiles(std::size_t count, const Visit& visit, std::size_t begin = 0) {
  for (; count - begin >= kQueries; begin += kQueries) visit(begin, TileSize<kQueries>());
  if constexpr (kQueries > 1) {
    if (begin < count) ForTiles<SmallerTile(kQueries)>(count, visit, begin);
  }
}

/// Vectors of a tile whose registers hold 8 sums, which hide the latency of an addition, or 16.
constexpr std::size_t TileVectors(std::size_t queries, std::size_t sums) {
  return std::clamp<std::size_t>(sums / queries, 1, 8);
}
/// Panels of a tile of 8 sums. More than 4 streams, whose distance is often a power of two, would
/// share too few lines of the cache.
constexpr std::size_t TilePanels(std::size_t queries) {
  return std::clamp<std::size_t>(TileVectors(queries, 8) / kTokenVectors, 1, 4);
}
constexpr std::size_t kManyRegisters = kTokenVectors == 1 ? 16 : 8;

/// The arithmetic of stored floats: a lane is a number.
template <class T>
struct Products {
  using Tag = TokenTag;
  using Factor = float;                       ///< what stored numbers are multiplied by
  using Wide = float;                         ///< what many queries convert them to first
  static constexpr std::size_t kNumbers = 1;  ///< of a lane
  /// Queries of a tile, at most. AVX-512 adds the product with a number in memory fastest for one
  /// vector and many queries.
  static constexpr std::size_t kQueries = kTokenVectors == 1 ? 12 : 4;
  static constexpr std::size_t Panels(std::size_t queries) {
    return kTokenVectors == 1 && queries > 2 ? 1 : TilePanels(queries);
  }
  static constexpr std::size_t Vectors(std::size_t queries) {
    return kTokenVectors == 1 && queries > 4 ? 1 : TileVectors(queries, kManyRegisters);
  }

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
  static constexpr std::size_t kQueries = 4;
  static constexpr std::size_t Panels(std::size_t queries) { return TilePanels(queries); }
  static constexpr std::size_t Vectors(std::size_t queries) {
    return TileVectors(queries, kManyRegisters);
  }

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

/// Some panels for kQueries queries.
template <std::size_t kQueries, class T>
HWY_INLINE void ScorePanels(const FactorOf<T>* const* queries, const T* panels, std::size_t step,
                            std::size_t size, float* const* scores, std::size_t num_panels) {
  constexpr std::size_t kPanels = Products<T>::Panels(kQueries);
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
  constexpr std::size_t kVectors = Products<T>::Vectors(kQueries);
  const std::size_t lanes = hn::Lanes(TokenTag());
  std::size_t i = 0;
  for (; i + kVectors * lanes <= row; i += kVectors * lanes) {
    AddValueTile<kQueries, kVectors>(weights, values, row, tokens, sums, i);
  }
  for (; i < row; i += lanes) {
    AddValueTile<kQueries, 1>(weights, values, row, tokens, sums, i);
  }
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
  constexpr std::size_t kVectors = Products<T>::Vectors(kQueries);
  const std::size_t lanes = hn::Lanes(TokenTag());
  std::size_t i = 0;
  for (; i + kVectors * lanes <= row; i += kVectors * lanes) {
    AddGroupTile<kQueries, kVectors>(weights, values, row, tokens, scales, sums, i);
  }
  for (; i < row; i += lanes) {
    AddGroupTile<kQueries, 1>(weights, values, row, tokens, scales, sums, i);
  }
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

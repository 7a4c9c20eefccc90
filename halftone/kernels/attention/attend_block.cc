// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/attention/attend_block.cc"
#include "halftone/kernels/attention/attend_block.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "halftone/kernels/activation/math-inl.h"
#include "halftone/kernels/attention/attend_tiles-inl.h"
#include "halftone/kernels/attention/nibbles-inl.h"
#include "halftone/kernels/attention/six_bits-inl.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/quantize_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kTokens = CacheShape::kPanelTokens;

/// What the stored keys are multiplied by.
template <class Factor>
struct Factors {
  const Factor* queries[QueryBlock::kMaxQueries];
  std::size_t size;  ///< of each
};

HWY_INLINE void FactorsOf(const QueryBlock& block, float* /*scales*/, Factors<float>& factors) {
  std::copy_n(block.queries, block.count, factors.queries);
  factors.size = block.key_size;
}
/// Rounds the queries; their scales are multiplied to `scales`.
HWY_INLINE void FactorsOf(const QueryBlock& block, float* scales, Factors<std::int16_t>& factors) {
  const auto range = static_cast<float>(query_steps(block.key_size));
  for (std::size_t i = 0; i < block.count; ++i) {
    std::int16_t* const to = block.rounded_queries + i * block.key_row;
    const RowSteps row = StepsOfRow(block.queries[i], block.key_size, range);
    QuantizeRow(block.queries[i], block.key_size, row.steps, to);
    std::fill(to + block.key_size, to + block.key_row, std::int16_t{0});
    factors.queries[i] = to;
    scales[i] *= row.scale;
  }
  factors.size = block.key_size;
}

/// Whether stored numbers are converted once for all queries.
template <class T>
HWY_INLINE bool Widens(const QueryBlock& block) {
  constexpr bool kSlow = std::is_same_v<T, std::uint16_t> && !HALFTONE_NATIVE_HALVES;
  constexpr std::size_t kMinQueries = kSlow ? 2 : 9;
  return sizeof(T) < sizeof(typename Products<T>::Wide) && block.count >= kMinQueries;
}

/// The products of all queries with the keys of some panels, of which a tile computes those that
/// its queries see.
/// @param panels    the first of them
/// @param position  of the first key
template <class T>
HWY_INLINE void ScoreTiles(const QueryBlock& block, const Factors<FactorOf<T>>& factors,
                           const T* panels, std::size_t position, std::size_t num_panels) {
  const std::size_t step = kTokens * block.key_row;
  ForTiles<Products<T>::kQueries>(block.count, [&](std::size_t i, auto tile) HWY_ATTR {
    constexpr std::size_t kQueries = decltype(tile)::value;
    const std::size_t begin = std::max(position, block.first[i] / kTokens * kTokens);
    const std::size_t end = std::min(position + num_panels * kTokens,
                                     (block.last[i + kQueries - 1] / kTokens + 1) * kTokens);
    if (begin >= end) return;
    float* scores[kQueries];
    for (std::size_t r = 0; r < kQueries; ++r) scores[r] = block.score(i + r, begin);
    ScorePanels<kQueries>(factors.queries + i, panels + (begin - position) / kTokens * step, step,
                          factors.size, scores, (end - begin) / kTokens);
  });
}

/// The products of all queries with the keys that they see, which are converted some panels at a
/// time.
/// @param convert  called with the first of some panels, their number and where they go
template <class Wide, class Convert>
HWY_INLINE void ScoreConverted(const QueryBlock& block, const Factors<FactorOf<Wide>>& factors,
                               const Convert& convert) {
  Wide* const wide = reinterpret_cast<Wide*>(block.converted);
  const std::size_t end = block.end() / kTokens;
  for (std::size_t p = block.base() / kTokens; p < end; p += QueryBlock::kKeyPanels) {
    const std::size_t count = std::min(QueryBlock::kKeyPanels, end - p);
    convert(p, count, wide);
    ScoreTiles<Wide>(block, factors, wide, p * kTokens, count);
  }
}

/// The products of all queries with the keys that they see.
/// @param scales  [count] what these are to be multiplied by
template <class T>
HWY_INLINE void ScoreKeys(const QueryBlock& block, float* scales) {
  using Wide = typename Products<T>::Wide;
  Factors<FactorOf<T>> factors;
  std::fill_n(scales, block.count, block.scale);
  FactorsOf(block, scales, factors);
  const std::size_t step = kTokens * block.key_row;
  const T* keys = reinterpret_cast<const T*>(block.keys);
  if (Widens<T>(block)) {
    return ScoreConverted<Wide>(block, factors,
                                [&](std::size_t p, std::size_t count, Wide* to)
                                    HWY_ATTR { Widen(keys + p * step, count * step, to); });
  }
  const std::size_t end = block.end() / kTokens;
  const std::size_t begin = block.base() / kTokens;
  const bool is_tile = block.count <= Products<T>::kQueries;
  const std::size_t most = is_tile ? end - begin : QueryBlock::kKeyPanels;
  for (std::size_t p = begin; p < end; p += most) {
    ScoreTiles(block, factors, keys + p * step, p * kTokens, std::min(most, end - p));
  }
}

/// The same for keys in 6 bits.
void ScoreSixBits(const QueryBlock& block, float* scales) {
  Factors<std::int16_t> factors;
  std::fill_n(scales, block.count, block.scale);
  FactorsOf(block, scales, factors);
  const std::size_t step = kTokens * block.key_row;
  ScoreConverted<std::int16_t>(
      block, factors, [&](std::size_t p, std::size_t count, std::int16_t* to) HWY_ATTR {
        for (std::size_t i = 0; i < count; ++i) {
          UnpackKeyPanel(block.keys + (p + i) * step * 6 / 8, block.key_row, to + i * step);
        }
      });
}

/// The same for keys in 4 bits.
void ScoreNibbles(const QueryBlock& block, float* scales) {
  Factors<float> factors;
  std::fill_n(scales, block.count, block.scale);
  FactorsOf(block, scales, factors);
  const std::size_t step = kTokens * block.key_row;
  const std::size_t groups = QueryBlock::group_bytes(block.key_size);
  ScoreConverted<float>(block, factors, [&](std::size_t p, std::size_t count, float* to) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) {
      DecodeKeyPanel(block.keys + (p + i) * step / 2, block.key_groups + (p + i) * groups,
                     block.key_size, to + i * step);
    }
  });
}

/// Scores from products, in place: with the scales and the cap.
/// @param key_scales  of the first key, or null
HWY_INLINE void ScaleScores(float factor, const float* key_scales, float softcap, float* scores,
                            std::size_t count) {
  const TokenTag d;
  const auto scale = hn::Set(d, factor);
  const auto cap = hn::Set(d, softcap);
  for (std::size_t t = 0; t < count; t += hn::Lanes(d)) {
    auto score = hn::LoadU(d, scores + t);
    if (key_scales != nullptr) score = hn::Mul(score, hn::LoadU(d, key_scales + t));
    score = hn::Mul(score, scale);
    if (softcap != 0) score = hn::Mul(cap, Tanh(d, hn::Div(score, cap)));
    hn::StoreU(score, d, scores + t);
  }
}

/// The largest of `count` scores, a multiple of 16; NaN is skipped.
HWY_INLINE float LargestScore(const float* scores, std::size_t count) {
  const TokenTag d;
  auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::size_t t = 0; t < count; t += hn::Lanes(d)) {
    const auto score = hn::LoadU(d, scores + t);
    best = hn::IfThenElse(hn::Gt(score, best), score, best);
  }
  alignas(64) float lane[hn::MaxLanes(d)];
  hn::Store(best, d, lane);
  float largest = lane[0];
  for (const float value : lane) largest = value > largest ? value : largest;
  return largest;
}

/// The summand of a score that has no value.
HWY_INLINE float SinkOf(float sink, float largest) {
  const TokenTag d;
  alignas(64) float lane[hn::MaxLanes(d)];
  hn::Store(Exp(d, hn::Set(d, sink - largest)), d, lane);
  return lane[0];
}

/// Scores to exp(score - largest); returns their sum.
HWY_INLINE float Exponentials(float* scores, std::size_t count, float largest) {
  const TokenTag d;
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) float partial[kTokens] = {};
  for (std::size_t t = 0; t < count; t += kTokens) {
    for (std::size_t l = 0; l < kTokens; l += lanes) {
      const auto e = Exp(d, hn::Sub(hn::LoadU(d, scores + t + l), hn::Set(d, largest)));
      hn::StoreU(e, d, scores + t + l);
      hn::Store(hn::Add(hn::Load(d, partial + l), e), d, partial + l);
    }
  }
  for (std::size_t h = kTokens / 2; h != 0; h /= 2) {
    for (std::size_t l = 0; l < h; ++l) partial[l] += partial[l + h];
  }
  return partial[0];
}

/// Panels that a query sees a part of.
struct SeenPanels {
  std::size_t begin;
  std::size_t end;
};

HWY_INLINE SeenPanels PanelsOf(const QueryBlock& block, std::size_t query) {
  return {block.first[query] / kTokens * kTokens, (block.last[query] / kTokens + 1) * kTokens};
}

/// Sets the scores at positions of its panels that a query does not see.
HWY_INLINE void FillUnseen(const QueryBlock& block, std::size_t query, float value) {
  const SeenPanels seen = PanelsOf(block, query);
  std::fill(block.score(query, seen.begin), block.score(query, block.first[query]), value);
  std::fill(block.score(query, block.last[query] + 1), block.score(query, seen.end), value);
}

/// Turns a query's products with keys into weights of values, which are 0 where the query does not
/// see a position of its panels; returns the sum that they are to be divided by.
float WeightsOf(const QueryBlock& block, std::size_t query, float factor) {
  const TokenTag d;
  const SeenPanels seen = PanelsOf(block, query);
  const std::size_t count = seen.end - seen.begin;
  float* const scores = block.score(query, seen.begin);
  const float* key_scales = block.key_scales == nullptr ? nullptr : block.key_scales + seen.begin;
  ScaleScores(factor, key_scales, block.softcap, scores, count);
  FillUnseen(block, query, -std::numeric_limits<float>::infinity());
  const float largest = LargestScore(scores, count);
  float sum = Exponentials(scores, count, largest);
  if (block.has_sinks) sum += SinkOf(block.sinks[query], largest);
  if (block.value_scales == nullptr) return sum;
  for (std::size_t t = 0; t < count; t += hn::Lanes(d)) {
    const auto scale = hn::LoadU(d, block.value_scales + seen.begin + t);
    hn::StoreU(hn::Mul(hn::LoadU(d, scores + t), scale), d, scores + t);
  }
  FillUnseen(block, query, 0);
  return sum;
}

/// Values of consecutive tokens.
template <class T>
struct Values {
  const T* data;
  std::size_t row;
  std::size_t begin;  ///< position of the first
  std::size_t end;
};

/// Adds the values in [begin, end) to the sums of `count` queries.
template <class T>
HWY_INLINE void AddRange(const QueryBlock& block, const Values<T>& values, std::size_t query,
                         std::size_t count, std::size_t begin, std::size_t end) {
  const T* first = values.data + (begin - values.begin) * values.row;
  ForTiles<Products<T>::kQueries>(count, [&](std::size_t i, auto tile) HWY_ATTR {
    constexpr std::size_t kQueries = decltype(tile)::value;
    const float* weights[kQueries];
    float* sums[kQueries];
    for (std::size_t r = 0; r < kQueries; ++r) {
      weights[r] = block.score(query + i + r, begin);
      sums[r] = block.sums + (query + i + r) * values.row;
    }
    AddValueRows<kQueries>(weights, first, values.row, end - begin, sums);
  });
}

/// Adds the values in [begin, end) that they see to the sums of a tile: to those of all queries
/// where all see them, before and after that to those of halves of the tile.
template <class T>
void AddToTile(const QueryBlock& block, const Values<T>& values, std::size_t query,
               std::size_t count, std::size_t begin, std::size_t end) {
  begin = std::max(begin, block.first[query]);
  end = std::min(end, block.last[query + count - 1] + 1);
  if (begin >= end) return;
  const std::size_t all_end = std::min(end, block.last[query] + 1);
  const std::size_t all_begin = std::clamp(block.first[query + count - 1], begin, end);
  if (all_begin == begin && all_end == end) {
    AddRange(block, values, query, count, begin, end);
    return;
  }
  const auto add_halves = [&](std::size_t from, std::size_t to) HWY_ATTR {
    const std::size_t half = count / 2;
    if (from >= to) return;
    AddToTile(block, values, query, half, from, to);
    AddToTile(block, values, query + half, count - half, from, to);
  };
  if (all_begin >= all_end) return add_halves(begin, end);
  add_halves(begin, all_begin);
  AddRange(block, values, query, count, all_begin, all_end);
  add_halves(all_end, end);
}

template <class T>
HWY_INLINE void AddToTiles(const QueryBlock& block, const Values<T>& values) {
  constexpr std::size_t kQueries = Products<T>::kQueries;
  for (std::size_t i = 0; i < block.count; i += kQueries) {
    AddToTile(block, values, i, std::min(kQueries, block.count - i), values.begin, values.end);
  }
}

/// The sums of weights times values.
template <class T>
HWY_INLINE void SumValues(const QueryBlock& block) {
  const T* data = reinterpret_cast<const T*>(block.values);
  float* const wide = reinterpret_cast<float*>(block.converted);
  const std::size_t row = block.value_row;
  const std::size_t end = block.last[block.count - 1] + 1;
  for (std::size_t t = block.first[0]; t < end; t += QueryBlock::kValueTokens) {
    const std::size_t count = std::min(QueryBlock::kValueTokens, end - t);
    if (Widens<T>(block)) {
      Widen(data + t * row, count * row, wide);
      AddToTiles(block, Values<float>{wide, row, t, t + count});
    } else {
      AddToTiles(block, Values<T>{data + t * row, row, t, t + count});
    }
  }
}

/// Rounds the weights of a query in the groups of a block; those outside of its panels are 0.
void RoundWeights(const QueryBlock& block, std::size_t query) {
  const SeenPanels seen = PanelsOf(block, query);
  std::int16_t* to = block.weights + query * block.weight_stride();
  float* scale = block.weight_scales + query * (block.weight_stride() / kWeightGroup);
  for (std::size_t t = block.group_base(); t < block.end(); t += kWeightGroup) {
    const std::size_t begin = std::clamp(t, seen.begin, seen.end) - t;
    const std::size_t end = std::clamp(t + kWeightGroup, seen.begin, seen.end) - t;
    std::fill_n(to, kWeightGroup, std::int16_t{0});
    *scale = 0;
    if (begin < end) {
      const float* weights = block.score(query, t + begin);
      const RowSteps row = StepsOfRow(weights, end - begin, kWeightSteps);
      QuantizeRow(weights, end - begin, row.steps, to + begin);
      *scale = row.scale;
    }
    to += kWeightGroup;
    ++scale;
  }
}

/// Adds the values of a group of tokens to the sums of all queries that see one of them.
/// @param values  of the tokens from `begin` on
template <class T>
HWY_INLINE void AddGroupToTiles(const QueryBlock& block, const T* values, std::size_t begin,
                                std::size_t end) {
  const std::size_t from = begin - block.group_base();
  const std::size_t groups = block.weight_stride() / kWeightGroup;
  ForTiles<Products<T>::kQueries>(block.count, [&](std::size_t i, auto tile) HWY_ATTR {
    constexpr std::size_t kQueries = decltype(tile)::value;
    if (block.first[i] >= end || block.last[i + kQueries - 1] < begin) return;
    const std::int16_t* weights[kQueries];
    float scales[kQueries];
    float* sums[kQueries];
    for (std::size_t r = 0; r < kQueries; ++r) {
      weights[r] = block.weights + (i + r) * block.weight_stride() + from;
      scales[r] = block.weight_scales[(i + r) * groups + from / kWeightGroup];
      sums[r] = block.sums + (i + r) * block.value_row;
    }
    AddGroupRows<kQueries>(weights, values, block.value_row, end - begin, scales, sums);
  });
}

/// The sums for integers: rounds the weights, then calls add(begin, end) for each group of tokens.
template <class Add>
HWY_INLINE void SumGroups(const QueryBlock& block, const Add& add) {
  for (std::size_t i = 0; i < block.count; ++i) RoundWeights(block, i);
  for (std::size_t t = block.base(); t < block.end();) {
    const std::size_t end = std::min(block.end(), (t / kWeightGroup + 1) * kWeightGroup);
    add(t, end);
    t = end;
  }
}

template <>
HWY_INLINE void SumValues<std::int8_t>(const QueryBlock& block) {
  const auto* data = reinterpret_cast<const std::int8_t*>(block.values);
  auto* const wide = reinterpret_cast<std::int16_t*>(block.converted);
  SumGroups(block, [&](std::size_t begin, std::size_t end) HWY_ATTR {
    const std::int8_t* values = data + begin * block.value_row;
    if (!Widens<std::int8_t>(block)) return AddGroupToTiles(block, values, begin, end);
    Widen(values, (end - begin) * block.value_row, wide);
    AddGroupToTiles(block, wide, begin, end);
  });
}

/// The same for values in 6 bits.
void SumSixBits(const QueryBlock& block) {
  auto* const wide = reinterpret_cast<std::int16_t*>(block.converted);
  const std::size_t row = block.value_row;
  SumGroups(block, [&](std::size_t begin, std::size_t end) HWY_ATTR {
    UnpackValues(block.values + begin * row * 6 / 8, row, end - begin, wide);
    AddGroupToTiles(block, wide, begin, end);
  });
}

/// The same for values in 4 bits.
void SumNibbles(const QueryBlock& block) {
  float* const wide = reinterpret_cast<float*>(block.converted);
  const std::size_t row = block.value_row;
  const std::size_t groups = QueryBlock::group_bytes(block.value_size);
  const std::size_t end = block.last[block.count - 1] + 1;
  for (std::size_t t = block.first[0]; t < end; t += QueryBlock::kValueTokens) {
    const std::size_t count = std::min(QueryBlock::kValueTokens, end - t);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t token = t + i;
      DecodeValue(block.values + token * row / 2,
                  block.value_groups + token / kTokens * groups + token % kTokens, row,
                  wide + i * row);
    }
    AddToTiles(block, Values<float>{wide, row, t, t + count});
  }
}

/// y = x / divisor with one kind of NaN.
HWY_INLINE void DivideRow(const float* x, float divisor, std::size_t n, float* y) {
  const TokenTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto divided = [&](std::size_t i) HWY_ATTR {
    const auto quotient = hn::Div(hn::LoadU(d, x + i), hn::Set(d, divisor));
    return NanWhereNan(d, quotient, quotient);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(divided(i), d, y + i);
  if (i == n) return;
  alignas(64) float rest[hn::MaxLanes(d)];
  hn::Store(divided(i), d, rest);
  std::copy_n(rest, n - i, y + i);
}

void AttendBlock(const QueryBlock& block) {
  float scales[QueryBlock::kMaxQueries];
  switch (block.key_type) {
    case CacheType::kFloat32:
      ScoreKeys<float>(block, scales);
      break;
    case CacheType::kFloat16:
      ScoreKeys<std::uint16_t>(block, scales);
      break;
    case CacheType::kInt8:
      ScoreKeys<std::int8_t>(block, scales);
      break;
    case CacheType::kInt6:
      ScoreSixBits(block, scales);
      break;
    case CacheType::kInt4:
      ScoreNibbles(block, scales);
      break;
  }
  float divisors[QueryBlock::kMaxQueries];
  for (std::size_t i = 0; i < block.count; ++i) divisors[i] = WeightsOf(block, i, scales[i]);
  std::fill_n(block.sums, block.count * block.value_row, 0.0F);
  switch (block.value_type) {
    case CacheType::kFloat32:
      SumValues<float>(block);
      break;
    case CacheType::kFloat16:
      SumValues<std::uint16_t>(block);
      break;
    case CacheType::kInt8:
      SumValues<std::int8_t>(block);
      break;
    case CacheType::kInt6:
      SumSixBits(block);
      break;
    case CacheType::kInt4:
      SumNibbles(block);
      break;
  }
  for (std::size_t i = 0; i < block.count; ++i) {
    DivideRow(block.sums + i * block.value_row, divisors[i], block.value_size, block.out[i]);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(AttendBlock);

void attend_block(const QueryBlock& block) noexcept { HALFTONE_DISPATCH(AttendBlock)(block); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE

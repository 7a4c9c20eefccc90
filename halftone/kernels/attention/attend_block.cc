// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/attention/attend_block.cc"
#include "halftone/kernels/attention/attend_block.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "halftone/kernels/activation/math-inl.h"
#include "halftone/kernels/attention/attend_tiles-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kTokens = CacheShape::kPanelTokens;

/// Calls visit(first query, count) for each tile of a block.
template <class Visit>
HWY_INLINE void ForTiles(const QueryBlock& block, const Visit& visit) {
  for (std::size_t i = 0; i < block.count; i += kTileQueries) {
    visit(i, std::min(kTileQueries, block.count - i));
  }
}

/// The products of all queries with the keys of some panels, of which a tile computes those that
/// its queries see.
/// @param panels    the first of them
/// @param position  of the first key
template <class T>
HWY_INLINE void ScoreTiles(const QueryBlock& block, const T* panels, std::size_t position,
                           std::size_t num_panels) {
  const std::size_t step = kTokens * block.key_row;
  ForTiles(block, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const std::size_t begin = std::max(position, block.first[i] / kTokens * kTokens);
    const std::size_t end = std::min(position + num_panels * kTokens,
                                     (block.last[i + count - 1] / kTokens + 1) * kTokens);
    if (begin >= end) return;
    float* scores[kTileQueries];
    for (std::size_t r = 0; r < count; ++r) scores[r] = block.score(i + r, begin);
    ScorePanels(block.queries + i, count, panels + (begin - position) / kTokens * step, step,
                block.key_size, scores, (end - begin) / kTokens);
  });
}

/// The products of all queries with the keys that they see.
template <class T>
void ScoreKeys(const QueryBlock& block) {
  const T* keys = reinterpret_cast<const T*>(block.keys);
  const std::size_t step = kTokens * block.key_row;
  const std::size_t begin = block.base();
  const std::size_t panels = (block.end() - begin) / kTokens;
  const T* first = keys + begin / kTokens * step;
  const bool convert = sizeof(T) < sizeof(float) && block.count >= QueryBlock::kMinConverted;
  if (!convert && block.count <= kTileQueries) return ScoreTiles(block, first, begin, panels);
  for (std::size_t p = 0; p < panels; p += QueryBlock::kKeyPanels) {
    const std::size_t count = std::min(QueryBlock::kKeyPanels, panels - p);
    if (convert) {
      Convert(first + p * step, count * step, block.converted);
      ScoreTiles<float>(block, block.converted, begin + p * kTokens, count);
    } else {
      ScoreTiles(block, first + p * step, begin + p * kTokens, count);
    }
  }
}

/// Scores from products, in place: with the scales and the cap.
/// @param key_scales  of the first key, or null
HWY_INLINE void ScaleScores(const QueryBlock& block, const float* key_scales, float* scores,
                            std::size_t count) {
  const TokenTag d;
  const auto scale = hn::Set(d, block.scale);
  const auto cap = hn::Set(d, block.softcap);
  for (std::size_t t = 0; t < count; t += hn::Lanes(d)) {
    auto score = hn::LoadU(d, scores + t);
    if (key_scales != nullptr) score = hn::Mul(score, hn::LoadU(d, key_scales + t));
    score = hn::Mul(score, scale);
    if (block.softcap != 0) score = hn::Mul(cap, Tanh(d, hn::Div(score, cap)));
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

/// Turns a query's products with keys into weights of values; returns the sum that they are to be
/// divided by. Positions that the query does not see, but which lie in its panels, count as -inf.
float WeightsOf(const QueryBlock& block, std::size_t query) {
  const TokenTag d;
  const std::size_t first = block.first[query];
  const std::size_t last = block.last[query];
  const std::size_t begin = first / kTokens * kTokens;
  const std::size_t count = (last / kTokens + 1) * kTokens - begin;
  float* const scores = block.score(query, begin);
  const float* key_scales = block.key_scales == nullptr ? nullptr : block.key_scales + begin;
  ScaleScores(block, key_scales, scores, count);
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  std::fill(scores, scores + (first - begin), kUnseen);
  std::fill(scores + (last + 1 - begin), scores + count, kUnseen);
  const float sum = Exponentials(scores, count, LargestScore(scores, count));
  if (block.value_scales == nullptr) return sum;
  for (std::size_t t = 0; t < count; t += hn::Lanes(d)) {
    const auto scale = hn::LoadU(d, block.value_scales + begin + t);
    hn::StoreU(hn::Mul(hn::LoadU(d, scores + t), scale), d, scores + t);
  }
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
  begin = std::max(begin, values.begin);
  end = std::min(end, values.end);
  if (begin >= end) return;
  const float* weights[kTileQueries];
  float* sums[kTileQueries];
  for (std::size_t r = 0; r < count; ++r) {
    weights[r] = block.score(query + r, begin);
    sums[r] = block.sums + (query + r) * values.row;
  }
  AddValues(weights, count, values.data + (begin - values.begin) * values.row, values.row,
            end - begin, sums);
}

/// Adds some values to the sums of all queries: those that all queries of a tile see, for the tile;
/// those before and after for each query.
template <class T>
HWY_INLINE void AddToTiles(const QueryBlock& block, const Values<T>& values) {
  ForTiles(block, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const std::size_t end = block.last[i] + 1;
    const std::size_t begin = std::min(block.first[i + count - 1], end);
    for (std::size_t r = i; r < i + count; ++r) {
      AddRange(block, values, r, 1, block.first[r], begin);
    }
    AddRange(block, values, i, count, begin, end);
    for (std::size_t r = i; r < i + count; ++r) {
      AddRange(block, values, r, 1, std::max(end, block.first[r]), block.last[r] + 1);
    }
  });
}

/// The sums of weights times values.
template <class T>
void SumValues(const QueryBlock& block) {
  const T* data = reinterpret_cast<const T*>(block.values);
  const std::size_t row = block.value_row;
  const std::size_t end = block.last[block.count - 1] + 1;
  const bool convert = sizeof(T) < sizeof(float) && block.count >= QueryBlock::kMinConverted;
  std::fill_n(block.sums, block.count * row, 0.0F);
  for (std::size_t t = block.first[0]; t < end; t += QueryBlock::kValueTokens) {
    const std::size_t count = std::min(QueryBlock::kValueTokens, end - t);
    if (convert) {
      Convert(data + t * row, count * row, block.converted);
      AddToTiles(block, Values<float>{block.converted, row, t, t + count});
    } else {
      AddToTiles(block, Values<T>{data + t * row, row, t, t + count});
    }
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
  float divisors[QueryBlock::kMaxQueries];
  switch (block.key_type) {
    case CacheType::kFloat32:
      ScoreKeys<float>(block);
      break;
    case CacheType::kFloat16:
      ScoreKeys<std::uint16_t>(block);
      break;
    case CacheType::kInt8:
      ScoreKeys<std::int8_t>(block);
      break;
  }
  for (std::size_t i = 0; i < block.count; ++i) divisors[i] = WeightsOf(block, i);
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

// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/kernels/attention/attention_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"

namespace halftone::kernels {
namespace {

using Attention = PerTarget;
constexpr CacheType kCacheTypes[] = {CacheType::kFloat32, CacheType::kFloat16, CacheType::kInt8,
                                     CacheType::kInt6, CacheType::kInt4};

AttentionShape attention_shape(std::size_t heads, std::size_t kv_heads, std::size_t size) {
  AttentionShape shape;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.key_size = size;
  shape.value_size = size;
  shape.scale = 1 / std::sqrt(static_cast<float>(size));
  return shape;
}

/// The outputs for all pairs, computed in ranges of `step` of them.
std::vector<float> attend_in_ranges(const AttentionCase& of, std::size_t step) {
  std::vector<float> out(of.outputs(), -7.0F);
  AlignedBuffer scratch = of.scratch();
  for (std::size_t i = 0; i < of.pairs(); i += step) {
    attend(of.inputs(), {i, std::min(of.pairs(), i + step)}, scratch.bytes(), of.view_of(out));
  }
  return out;
}

std::vector<float> attend_all(const AttentionCase& of) { return attend_in_ranges(of, of.pairs()); }

std::vector<float> attend_reference_all(const AttentionCase& of) {
  std::vector<float> out(of.outputs(), -8.0F);
  attend_reference(of.inputs(), of.view_of(out));
  return out;
}

void expect_attention_matches(const AttentionCase& of) {
  EXPECT_EQ(bit_patterns(attend_all(of)), bit_patterns(attend_reference_all(of)))
      << of.rows() << " rows, " << of.shape.heads << " heads on " << of.shape.kv_heads << ", sizes "
      << of.shape.key_size << " and " << of.shape.value_size << ", window " << of.shape.window
      << ", softcap " << of.shape.softcap << ", type " << static_cast<int>(of.keys.shape.type);
}

/// Single rows around the borders of panels, in two sequences.
void add_rows_at_borders(AttentionCase& of, Random& random) {
  for (const std::size_t position : {0U, 15U, 16U, 17U, 31U, 32U, 33U, 39U}) {
    of.add_row(position % 2, position, random);
  }
}

TEST_P(Attention, MatchesReferenceForEverySizeAndType) {
  Random random(60);
  for (const CacheType type : kCacheTypes) {
    for (const std::size_t size : {1U, 8U, 64U, 80U, 128U, 256U}) {
      AttentionCase of(attention_shape(2, 1, size), 2, 40, type, random);
      add_rows_at_borders(of, random);
      expect_attention_matches(of);
    }
  }
}

TEST_P(Attention, MatchesReferenceForEveryNumberOfHeadsInAGroup) {
  Random random(61);
  for (const CacheType type : kCacheTypes) {
    for (const std::size_t group : {1U, 2U, 3U, 4U, 5U, 8U, 9U, 40U}) {
      AttentionCase of(attention_shape(2 * group, 2, 8), 2, 40, type, random);
      add_rows_at_borders(of, random);
      for (std::size_t p = 10; p < 17; ++p) of.add_row(1, p, random);
      expect_attention_matches(of);
    }
  }
}

TEST_P(Attention, MatchesReferenceWithSizesThatDiffer) {
  Random random(62);
  for (const CacheType type : kCacheTypes) {
    AttentionShape shape = attention_shape(6, 3, 24);
    shape.value_size = 37;
    AttentionCase of(shape, 2, 40, type, random);
    add_rows_at_borders(of, random);
    expect_attention_matches(of);
  }
}

TEST_P(Attention, MatchesReferenceForPrompts) {
  Random random(63);
  for (const CacheType type : kCacheTypes) {
    for (const std::size_t heads : {1U, 3U, 4U}) {
      for (const std::size_t rows : {1U, 3U, 64U}) {
        AttentionCase of(attention_shape(heads, 1, 16), 1, 90, type, random);
        for (std::size_t p = 0; p < rows; ++p) of.add_row(0, 13 + p, random);
        expect_attention_matches(of);
      }
    }
  }
}

TEST_P(Attention, MatchesReferenceWithWindowAndSoftcap) {
  Random random(64);
  for (const CacheType type : kCacheTypes) {
    for (const std::size_t window : {1U, 2U, 3U, 16U, 17U, 30U, 200U}) {
      AttentionShape shape = attention_shape(3, 3, 16);
      shape.window = window;
      shape.softcap = 1.5F;
      AttentionCase of(shape, 2, 100, type, random);
      for (std::size_t p = 0; p < 70; ++p) of.add_row(1, 20 + p, random);
      of.add_row(0, 99, random);
      of.add_row(1, 15, random);
      expect_attention_matches(of);
    }
  }
}

/// From those that change nothing to those that leave nothing.
TEST_P(Attention, MatchesReferenceWithSinks) {
  Random random(66);
  const std::vector<float> sinks = {-200, -1, 0, 2, 1, 200};
  for (const CacheType type : kCacheTypes) {
    AttentionShape shape = attention_shape(6, 2, 16);
    shape.sinks = sinks;
    AttentionCase of(shape, 2, 40, type, random);
    add_rows_at_borders(of, random);
    for (std::size_t p = 0; p < 20; ++p) of.add_row(1, 20 + p, random);
    expect_attention_matches(of);
  }
}

TEST_P(Attention, MatchesReferenceInLongContexts) {
  Random random(65);
  for (const CacheType type : kCacheTypes) {
    AttentionShape shape = attention_shape(8, 2, 8);
    AttentionCase of(shape, 1, 5000, type, random);
    for (const std::size_t position : {4094U, 4095U, 4096U, 4097U, 4999U}) {
      of.add_row(0, position, random);
    }
    expect_attention_matches(of);
    of.shape.window = 1000;
    expect_attention_matches(of);
  }
}

/// 64 rows: parts of prompts and single tokens of five sequences.
AttentionCase mixed_rows(CacheType type, Random& random) {
  AttentionCase of(attention_shape(6, 2, 16), 5, 60, type, random);
  for (std::size_t r = 0; r < 20; ++r) of.add_row(2, 30 + r, random);
  for (std::size_t r = 0; r < 14; ++r) of.add_row(r % 5, 7 * r % 60, random);
  for (std::size_t r = 0; r < 30; ++r) of.add_row(4, r, random);
  return of;
}

TEST_P(Attention, DoesNotDependOnRanges) {
  Random random(66);
  for (const CacheType type : kCacheTypes) {
    const AttentionCase of = mixed_rows(type, random);
    const auto all = attend_reference_all(of);
    for (const std::size_t step : {1U, 2U, 5U, 33U, 64U, 100U, 128U}) {
      EXPECT_EQ(bit_patterns(attend_in_ranges(of, step)), bit_patterns(all)) << step;
    }
  }
}

TEST_P(Attention, WritesOnlyTheHeadsOfItsPairs) {
  Random random(67);
  const AttentionCase of = mixed_rows(CacheType::kFloat16, random);
  const auto all = attend_all(of);
  std::vector<float> out(of.outputs(), -7.0F);
  AlignedBuffer scratch = of.scratch();
  attend(of.inputs(), {50, 80}, scratch.bytes(), of.view_of(out));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / (6 * 16);
    const std::size_t kv_head = i % (6 * 16) / (3 * 16);
    const std::size_t pair = kv_head * of.rows() + row;
    EXPECT_EQ(out[i], pair >= 50 && pair < 80 ? all[i] : -7.0F) << i;
  }
}

void expect_any_order_of_rows(CacheType type, Random& random) {
  const AttentionCase of = mixed_rows(type, random);
  const auto all = attend_all(of);
  const std::size_t width = of.shape.heads * of.shape.key_size;
  AttentionCase turned = mixed_rows(type, random);
  turned.keys = {of.keys.shape, append_keys, random};
  turned.values = {of.values.shape, append_values, random};
  std::copy(of.keys.bytes.bytes().begin(), of.keys.bytes.bytes().end(), turned.keys.bytes.data());
  std::copy(of.values.bytes.bytes().begin(), of.values.bytes.bytes().end(),
            turned.values.bytes.data());
  for (std::size_t r = 0; r < of.rows(); ++r) {
    const std::size_t from = of.rows() - 1 - r;
    turned.slots[r] = of.slots[from];
    turned.positions[r] = of.positions[from];
    std::copy_n(of.queries.begin() + static_cast<std::ptrdiff_t>(from * width), width,
                turned.queries.begin() + static_cast<std::ptrdiff_t>(r * width));
  }
  const auto out = attend_all(turned);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], all[(of.rows() - 1 - i / width) * width + i % width]) << i;
  }
}

TEST_P(Attention, DoesNotDependOnTheOrderOfRows) {
  Random random(68);
  for (const CacheType type : kCacheTypes) expect_any_order_of_rows(type, random);
}

void expect_largest_sums_fit(CacheType type, Random& random) {
  for (const std::size_t size : {516U, 517U, 1000U}) {
    AttentionCase of(attention_shape(2, 1, size), 1, 40, type, random);
    of.add_row(0, 39, random);
    std::fill(of.queries.begin(), of.queries.end(), -1.0F);
    const std::vector<float> ones(40 * size, 1.0F);
    const std::vector<std::int32_t> slots(40, 0);
    std::vector<std::int32_t> positions(40);
    std::iota(positions.begin(), positions.end(), 0);
    const MatrixView<const float> rows(ones, 40, size);
    append_keys(of.keys.shape, rows, {slots, positions}, {0, 1}, of.keys.bytes.bytes());
    append_values(of.values.shape, rows, {slots, positions}, {0, 1}, of.values.bytes.bytes());
    expect_attention_matches(of);
    // Weights are equal. Two scales, their products with weights and sums of two groups, the sum of
    // groups and the quotient are rounded: fewer than 16 roundings of half an ulp.
    for (const float y : attend_all(of)) EXPECT_NEAR(y, 1, 16 * 0x1p-24) << size;
  }
}

TEST_P(Attention, SumsOfTheLargestIntegersFit) {
  Random random(73);
  for (const CacheType type : {CacheType::kInt8, CacheType::kInt6}) {
    expect_largest_sums_fit(type, random);
  }
}

/// What lies behind the last token of a sequence may be left from another one.
TEST_P(Attention, IgnoresWhatItDoesNotSee) {
  Random random(69);
  for (const CacheType type : kCacheTypes) {
    AttentionShape shape = attention_shape(3, 1, 16);
    shape.window = 20;
    AttentionCase of(shape, 1, 64, type, random);
    for (std::size_t p = 25; p < 40; ++p) of.add_row(0, p, random);
    const auto before = attend_all(of);
    const std::vector<float> nan(16, std::numeric_limits<float>::quiet_NaN());
    for (std::int32_t p = 0; p < 64; ++p) {
      if (p > 25 - 20 && p < 40) continue;
      const std::int32_t slot = 0;
      const MatrixView<const float> row(nan, 1, 16);
      append_keys(of.keys.shape, row, {{&slot, 1}, {&p, 1}}, {0, 1}, of.keys.bytes.bytes());
      append_values(of.values.shape, row, {{&slot, 1}, {&p, 1}}, {0, 1}, of.values.bytes.bytes());
    }
    EXPECT_EQ(bit_patterns(attend_all(of)), bit_patterns(before));
  }
}

TEST_P(Attention, MatchesReferenceOnExtremeNumbers) {
  Random random(70);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const CacheType type : kCacheTypes) {
    for (const float extreme : {kNan, kInf, -kInf, 3e38F, 65519.0F, 65520.0F, 1e-41F, 3e-7F}) {
      AttentionCase of(attention_shape(2, 1, 8), 1, 40, type, random);
      for (std::size_t p = 0; p < 40; ++p) of.add_row(0, p, random);
      std::vector<float> row(8, extreme);
      const std::int32_t slot = 0;
      const std::int32_t at[] = {17, 29};
      const MatrixView<const float> view(row, 1, 8);
      append_keys(of.keys.shape, view, {{&slot, 1}, {at, 1}}, {0, 1}, of.keys.bytes.bytes());
      append_values(of.values.shape, view, {{&slot, 1}, {at + 1, 1}}, {0, 1},
                    of.values.bytes.bytes());
      expect_attention_matches(of);
      of.shape.softcap = 2;
      expect_attention_matches(of);
    }
  }
}

TEST_P(Attention, OfASampleIsThatOfAFloatCache) {
  Random random(71);
  for (const std::size_t tokens : {0U, 1U, 3U, 64U}) {
    AttentionShape shape = attention_shape(6, 2, 24);
    shape.value_size = 20;
    shape.window = 30;
    AttentionCase of(shape, 1, tokens, CacheType::kFloat32, random);
    for (std::size_t p = 0; p < tokens; ++p) of.add_row(0, p, random);
    std::vector<float> out(of.outputs(), -1.0F);
    const SampleInputs sample{of.inputs().queries,
                              MatrixView<const float>(of.keys.numbers, tokens, 2 * 24),
                              MatrixView<const float>(of.values.numbers, tokens, 2 * 20)};
    for (std::size_t h = 0; h < 2; ++h) attend_causal(shape, sample, {h, h + 1}, of.view_of(out));
    EXPECT_EQ(bit_patterns(out), bit_patterns(attend_reference_all(of))) << tokens;
  }
}

/// Numbers in float64 after numerics::rotate_blocks() by its definition, and the error of each that
/// float32 makes.
struct ExactRotation {
  std::vector<double> numbers;
  double rounding = 0;
};

ExactRotation exact_rotation(std::span<const double> x) {
  const std::size_t block = x.size() & (~x.size() + 1);
  const auto b = static_cast<double>(block);
  ExactRotation exact{std::vector<double>(x.size())};
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < block; ++j) {
      const double value = x[i / block * block + j];
      exact.numbers[i] += (std::popcount(i % block & j) % 2 == 0 ? value : -value) / std::sqrt(b);
    }
    largest = std::max(largest, std::abs(x[i]));
  }
  exact.rounding = (std::log2(b) + 2) * 0x1p-24 * std::sqrt(b) * largest;
  return exact;
}

/// Scores of one head of one row, in float64.
struct ExactScores {
  std::vector<double> scores;
  double error = 0;  ///< bound of the error of a score less the largest one
};

ExactScores exact_scores(const AttentionCase& of, std::size_t row, std::size_t head) {
  const AttentionShape& shape = of.shape;
  const auto last = static_cast<std::size_t>(of.positions[row]);
  const auto query = std::span(of.queries)
                         .subspan((row * shape.heads + head) * shape.key_size)
                         .first(shape.key_size);
  std::vector<double> q(query.begin(), query.end());
  double q_rounding = 0;
  if (is_rotated(of.keys.shape.type)) {
    ExactRotation rotation = exact_rotation(q);
    q = std::move(rotation.numbers);
    q_rounding = rotation.rounding;
  }
  if (has_integers(of.keys.shape.type)) {
    double largest = 0;
    for (const double x : q) largest = std::max(largest, std::abs(x));
    q_rounding += largest / 65534;
  }
  ExactScores exact;
  std::vector<float> key(shape.key_size);
  for (std::size_t t = shape.first_seen(last); t <= last; ++t) {
    const double scale =
        double{read_key(of.keys.shape, of.keys.bytes.bytes(),
                        {static_cast<std::size_t>(of.slots[row]), t, head / shape.group()}, key)} *
        shape.scale;
    double sum = 0;
    double magnitude = 0;
    double rounding = 0;
    for (std::size_t i = 0; i < shape.key_size; ++i) {
      sum += q[i] * key[i];
      magnitude += std::abs(q[i] * key[i]);
      rounding += q_rounding * std::abs(double{key[i]});
    }
    // Products, their sum, a scale of the query, and two factors.
    const double n = static_cast<double>(shape.key_size) + 4;
    double score = sum * scale;
    double error = (n * 0x1p-24 * magnitude + rounding) * scale;
    if (shape.softcap != 0) {
      score = shape.softcap * std::tanh(score / shape.softcap);
      error += (0x1p-24 + 9e-8 + 0x1p-24) * shape.softcap;  // quotient, tanh, product
    }
    exact.scores.push_back(score);
    exact.error = std::max(exact.error, error);
  }
  const double low = *std::min_element(exact.scores.begin(), exact.scores.end());
  const double high = *std::max_element(exact.scores.begin(), exact.scores.end());
  exact.error = 2 * exact.error + 0x1p-24 * (high - low);
  for (double& score : exact.scores) score -= high;
  return exact;
}

/// One head of one row, in float64.
struct ExactHead {
  std::vector<double> out;
  std::vector<double> bound;
};

ExactHead exact_head(const AttentionCase& of, std::size_t row, std::size_t head) {
  const AttentionShape& shape = of.shape;
  const auto first = shape.first_seen(static_cast<std::size_t>(of.positions[row]));
  const ExactScores exact = exact_scores(of, row, head);
  const std::size_t tokens = exact.scores.size();
  const bool integers = has_integers(of.values.shape.type);
  std::vector<float> value(shape.value_size);
  std::vector<double> magnitude(shape.value_size);
  ExactHead result{std::vector<double>(shape.value_size), std::vector<double>(shape.value_size)};
  double total = 0;
  for (std::size_t begin = first; begin < first + tokens;) {
    const std::size_t end = std::min(first + tokens, (begin / kWeightGroup + 1) * kWeightGroup);
    double largest = 0;
    std::vector<double> sums(shape.value_size);
    for (std::size_t t = begin; t < end; ++t) {
      const double e = std::exp(exact.scores[t - first]);
      const double weight =
          e * read_value(of.values.shape, of.values.bytes.bytes(),
                         {static_cast<std::size_t>(of.slots[row]), t, head / shape.group()}, value);
      total += e;
      largest = std::max(largest, weight);
      for (std::size_t i = 0; i < shape.value_size; ++i) {
        result.out[i] += weight * value[i];
        magnitude[i] += weight * std::abs(double{value[i]});
        sums[i] += std::abs(double{value[i]});
      }
    }
    for (std::size_t i = 0; i < shape.value_size && integers; ++i) {
      result.bound[i] += largest / 65534 * sums[i];  // a weight is off by half a step
    }
    begin = end;
  }
  // Errors of scores multiply weights by up to e^error; e^x is within 1.1 ulp. A sum of n terms has
  // up to n roundings, the divisor n / 16 + 4. Three products and a quotient remain.
  const auto n = static_cast<double>(tokens);
  const double relative =
      2 * (std::expm1(exact.error) + 2.2 * 0x1p-24) + (n + n / 16 + 4 + 4) * 0x1p-24;
  for (std::size_t i = 0; i < shape.value_size; ++i) {
    result.out[i] /= total;
    // What these bounds leave out is a product of two of them.
    result.bound[i] = (result.bound[i] + relative * magnitude[i]) / total * (1 + 2 * relative);
  }
  if (!is_rotated(of.values.shape.type)) return result;
  // Each output is a sum of those of a block, with factors of 1 / sqrt(b).
  double sum = 0;
  for (const double bound : result.bound) sum += bound;
  const ExactRotation rotation = exact_rotation(result.out);
  result.out = rotation.numbers;
  std::ranges::fill(result.bound, sum + rotation.rounding);
  return result;
}

TEST_P(Attention, StaysWithinItsBound) {
  Random random(72);
  for (const CacheType type : kCacheTypes) {
    for (const float softcap : {0.0F, 2.0F}) {
      AttentionShape shape = attention_shape(4, 2, 64);
      shape.softcap = softcap;
      AttentionCase of(shape, 1, 700, type, random);
      for (const std::size_t p : {0U, 17U, 300U, 699U}) of.add_row(0, p, random);
      const auto out = attend_all(of);
      for (std::size_t i = 0; i < out.size(); i += 64) {
        const ExactHead exact = exact_head(of, i / (4 * 64), i / 64 % 4);
        for (std::size_t v = 0; v < 64; ++v) {
          ASSERT_NEAR(out[i + v], exact.out[v], exact.bound[v]) << i << ", " << v;
        }
      }
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(Attention);

}  // namespace
}  // namespace halftone::kernels

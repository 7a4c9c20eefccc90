// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/adaptive_rounding.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/ir/test_data.h"

namespace halftone::compress {
namespace {

constexpr std::size_t kOutputs = 4;
constexpr std::size_t kInputs = 30;
constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

/// A basis of two bits for each row. Its levels are uneven, and some weights lie beyond them.
numerics::MatrixEncoding uneven_encoding() {
  std::vector<numerics::Basis> bases;
  for (std::size_t r = 0; r < kOutputs; ++r) {
    const float factor = 1 + 0.1F * static_cast<float>(r);
    const std::vector<float> a = {0.3F * factor, 0.8F * factor};
    bases.push_back(numerics::make_basis(a, 0.05F));
  }
  return numerics::basis_encoding(bases, true, numerics::Granularity::kChannel);
}

/// A layer with random weights between and beyond the levels.
struct Layer {
  Layer() : encoding(uneven_encoding()) {
    Random random(7);
    weights = ir::test::random_tensor({kOutputs, kInputs}, random);
  }
  [[nodiscard]] std::span<const float> floats() const { return weights.as<float>(); }
  [[nodiscard]] AdaptiveRounding learned() const { return {encoding, kOutputs, kInputs, floats()}; }
  [[nodiscard]] std::vector<float> levels(std::size_t i) const {
    const numerics::LevelTable table(encoding.levels(i / kInputs));
    return {table.levels().begin(), table.levels().end()};
  }

  numerics::MatrixEncoding encoding;
  ir::Tensor weights;
};

// Between the kinks f is smooth: |(f(v + d) - f(v - d)) / 2d - f'(v)| <= d^2 max|f'''| / 6 plus the
// rounding of f, relative error 2^-48, divided by d. The third derivative of h is at most 1.2 / 8,
// that of the penalty with an exponent up to 20 at most 20^3 2^3.
constexpr double kDelta = 1e-5;
constexpr double kRounding = 0x1p-48 / kDelta;

TEST(AdaptiveRounding, HasTheSlopesOfItsFunctions) {
  for (double v = -2.35; v < 2.36; v += 0.1) {
    const auto slope = [&](auto&& f) { return (f(v + kDelta) - f(v - kDelta)) / (2 * kDelta); };
    EXPECT_NEAR(rectified_sigmoid_slope(v), slope(rectified_sigmoid),
                kDelta * kDelta * 0.15 / 6 + kRounding);
    EXPECT_NEAR(inverse_rectified_sigmoid(rectified_sigmoid(v)), v, 0x1p-40);
  }
  for (const double exponent : {2.0, 3.5, 20.0}) {
    for (double h = 0.03; h < 1; h += 0.05) {
      const double difference =
          (rounding_penalty(h + kDelta, exponent) - rounding_penalty(h - kDelta, exponent)) /
          (2 * kDelta);
      EXPECT_NEAR(rounding_penalty_slope(h, exponent), difference,
                  kDelta * kDelta * 64000 / 6 + kRounding);
    }
  }
  EXPECT_EQ(rectified_sigmoid(-3), 0);
  EXPECT_EQ(rectified_sigmoid(3), 1);
  EXPECT_EQ(rectified_sigmoid_slope(3), 0);
  EXPECT_EQ(rounding_penalty(0, 2) + rounding_penalty(1, 20), 0);
  EXPECT_EQ(rounding_penalty(0.5, 20), 1);
}

TEST(AdaptiveRounding, AnnealsItsExponentAfterAWarmStart) {
  EXPECT_EQ(rounding_exponent(0.19), 0);
  EXPECT_EQ(rounding_exponent(0.2), 20);
  EXPECT_NEAR(rounding_exponent(0.6), 11, 1e-12);
  EXPECT_NEAR(rounding_exponent(1), 2, 1e-12);
}

TEST(AdaptiveRounding, StartsFromTheFloatWeights) {
  const Layer layer;
  const AdaptiveRounding learned = layer.learned();
  std::size_t num_beyond = 0;
  for (std::size_t i = 0; i < kOutputs * kInputs; ++i) {
    const float w = layer.floats()[i];
    const std::vector<float> levels = layer.levels(i);
    const float inside = std::clamp(w, levels.front(), levels.back());
    // |v| <= 2.4 is rounded to float, h has at most the slope 0.3, gaps are at most 2; the result
    // and the gap are rounded again.
    EXPECT_NEAR(learned.values()[i], inside, kEpsilon * (2.4 * 0.3 * 2 + 2 * 2)) << i;
    if (inside == w) continue;
    ++num_beyond;
    EXPECT_EQ(learned.values()[i], inside);
    EXPECT_EQ(learned.variables()[i], 0);
  }
  EXPECT_GT(num_beyond, 0U);
  EXPECT_LT(num_beyond, kOutputs * kInputs / 2);
}

/// sum of c w~ + penalty * sum of the rounding penalties, with the variable of one weight changed.
double loss(const Layer& layer, std::span<const float> c, const WeightStep& step, std::size_t i,
            double v) {
  const std::vector<float> levels = layer.levels(i);
  const auto above = std::ranges::upper_bound(levels, layer.floats()[i]);
  const auto high = static_cast<double>(*above);
  const auto low = static_cast<double>(*(above - 1));
  const double h = rectified_sigmoid(v);
  return static_cast<double>(c[i]) * (low + (high - low) * h) +
         step.penalty * rounding_penalty(h, rounding_exponent(step.progress));
}

TEST(AdaptiveRounding, HasTheGradientOfTheLoss) {
  const Layer layer;
  const AdaptiveRounding learned = layer.learned();
  Random random(8);
  const ir::Tensor slopes = ir::test::random_tensor({kOutputs, kInputs}, random);
  const std::span<const float> c = slopes.as<float>();
  WeightStep step;
  step.penalty = 0.2;
  step.progress = 0.9;
  const std::vector<float> gradient = learned.variable_gradient(c, step);
  for (std::size_t i = 0; i < kOutputs * kInputs; ++i) {
    const auto v = static_cast<double>(learned.variables()[i]);
    const std::vector<float> levels = layer.levels(i);
    const float w = layer.floats()[i];
    if (w < levels.front() || w >= levels.back()) {
      EXPECT_EQ(gradient[i], 0);
    } else if (rectified_sigmoid(v + kDelta) < 1 && rectified_sigmoid(v - kDelta) > 0) {
      const double difference =
          (loss(layer, c, step, i, v + kDelta) - loss(layer, c, step, i, v - kDelta)) /
          (2 * kDelta);
      // As above, then the gradient and the gap are rounded to float.
      EXPECT_NEAR(gradient[i], difference,
                  kDelta * kDelta * 1e3 + 8 * kRounding + 2 * kEpsilon * std::abs(difference))
          << i;
    }
  }
  // The warm start has no penalty.
  step.progress = 0.1;
  const std::vector<float> zeros(c.size(), 0);
  EXPECT_THAT(learned.variable_gradient(zeros, step), testing::Each(0));
}

TEST(AdaptiveRounding, PenaltyDrivesEachWeightToANeighbour) {
  const Layer layer;
  AdaptiveRounding learned = layer.learned();
  const std::vector<float> zeros(kOutputs * kInputs, 0);
  constexpr int kSteps = 600;
  for (int i = 0; i < kSteps; ++i) {
    learned.step(zeros, {.weight_rate = 0.004, .penalty = 1, .progress = i / double{kSteps}});
  }
  const std::vector<float> before(learned.values().begin(), learned.values().end());
  learned.round();
  EXPECT_THAT(learned.values(), testing::ElementsAreArray(before));
}

TEST(AdaptiveRounding, EndsAtOneOfTwoNeighbours) {
  const Layer layer;
  AdaptiveRounding learned = layer.learned();
  Random random(9);
  for (int i = 0; i < 50; ++i) {
    const ir::Tensor gradient = ir::test::random_tensor({kOutputs, kInputs}, random);
    learned.step(gradient.as<float>(), {.weight_rate = 0.05});
  }
  learned.round();
  EXPECT_EQ(learned.encoding(), layer.encoding);
  EXPECT_THAT(decode(learned.codes(), layer.encoding), testing::ElementsAreArray(learned.values()));
  std::size_t num_farther = 0;
  for (std::size_t i = 0; i < kOutputs * kInputs; ++i) {
    const std::vector<float> levels = layer.levels(i);
    const float w = std::clamp(layer.floats()[i], levels.front(), levels.back());
    const float found = learned.values()[i];
    const auto at = std::ranges::find(levels, found);
    ASSERT_NE(at, levels.end());
    if (found > w) {
      EXPECT_LE(*(at - 1), w);
    } else if (found < w) {
      EXPECT_GE(*(at + 1), w);
    }
    num_farther += static_cast<std::size_t>(
        found != numerics::LevelTable(layer.encoding.levels(i / kInputs)).nearest(w));
  }
  EXPECT_GT(num_farther, 0U);
}

TEST(AdaptiveRounding, TakesTheNearestLevelWithoutAStep) {
  const Layer layer;
  AdaptiveRounding learned = layer.learned();
  learned.round();
  for (std::size_t i = 0; i < kOutputs * kInputs; ++i) {
    const numerics::LevelTable table(layer.encoding.levels(i / kInputs));
    EXPECT_EQ(learned.values()[i], table.nearest(layer.floats()[i]));
  }
}

}  // namespace
}  // namespace halftone::compress

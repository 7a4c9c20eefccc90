// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "halftone/base/hash.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

/// Every kind, with parameters that all of them accept.
std::vector<Activation> all_activations() {
  std::vector<Activation> result;
  for (const ActivationTraits& traits : activation_table()) {
    result.push_back({traits.kind, 0.25F, 0.75F});
  }
  return result;
}

TEST(ActivationTable, HasNoDerivativeWhereAFunctionIsFlat) {
  const std::set<ActivationKind> flat = {ActivationKind::kSignBit, ActivationKind::kSign,
                                         ActivationKind::kFloor,   ActivationKind::kCeil,
                                         ActivationKind::kRound,   ActivationKind::kNot,
                                         ActivationKind::kIsNan,   ActivationKind::kIsInf};
  for (const ActivationTraits& traits : activation_table()) {
    EXPECT_EQ(is_differentiable(Activation{traits.kind}), !flat.contains(traits.kind))
        << traits.name;
    EXPECT_LE(traits.is_predicate, flat.contains(traits.kind)) << traits.name;
  }
}

/// A difference of fourth order of values in float32.
double difference(const Activation& activation, float x, float step) {
  const auto y = [&](float steps) {
    return static_cast<double>(apply(activation, x + steps * step));
  };
  return (8 * (y(1) - y(-1)) - (y(2) - y(-2))) / (12 * static_cast<double>(step));
}

/// The error of a difference is that of its step to the fourth power, a 15th of what half the step
/// changes, and 18 / (12 h) halves of a unit in the last place.
TEST(ActivationTable, DerivativesAreTheSlopesAwayFromKinks) {
  constexpr float kStep = 0x1p-6F;
  for (const Activation& activation : all_activations()) {
    if (!is_differentiable(activation)) continue;
    std::size_t num_sharp = 0;
    for (const float x : {-6.3F, -2.1F, -0.62F, -0.35F, 0.41F, 0.6F, 0.97F, 1.5F, 2.2F, 7.1F}) {
      const double slope = difference(activation, x, kStep);
      const double change = std::abs(slope - difference(activation, x, 2 * kStep));
      if (!std::isfinite(change)) continue;  // outside of the domain
      const auto size = static_cast<double>(std::abs(apply(activation, x)));
      const double tolerance = change + 1.5 * 0x1p-24 / static_cast<double>(kStep) * (1 + size);
      EXPECT_NEAR(static_cast<double>(traits_of(activation.kind).derivative(activation, x)), slope,
                  tolerance)
          << to_string(activation) << " at " << x;
      if (tolerance < 1e-3 * (1 + std::abs(slope))) ++num_sharp;
    }
    EXPECT_GE(num_sharp, 3U) << to_string(activation);
  }
}

TEST(ActivationTable, CeluHasTheSlopeOfEitherSign) {
  for (const float alpha : {0.7F, -0.7F}) {
    const Activation celu{ActivationKind::kCelu, alpha};
    const auto slope = traits_of(celu.kind).derivative;
    EXPECT_EQ(slope(celu, 1), 1);
    EXPECT_EQ(slope(celu, 0), 1);
    EXPECT_FLOAT_EQ(slope(celu, -0.5F), std::exp(-0.5F / alpha));
  }
}

TEST(ActivationTable, LimitsAreThoseOfTheValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::size_t num_limited = 0;
  for (const Activation& activation : all_activations()) {
    const auto limits = limits_of(activation);
    if (!limits) continue;
    ++num_limited;
    EXPECT_EQ(apply(activation, -kInfinity), limits->low);
    EXPECT_EQ(apply(activation, kInfinity), limits->high);
    for (const float x : {-1.5F, 0.1F, 0.5F, 3.0F, 7.0F}) {
      EXPECT_EQ(apply(activation, x), std::min(std::max(x, limits->low), limits->high))
          << to_string(activation);
    }
  }
  EXPECT_EQ(num_limited, 5U);
  EXPECT_FALSE(limits_of({ActivationKind::kClip, 1, -1}));
}

/// The checksum is the same on every processor and changes only with a definition.
TEST(ActivationTable, GivesTheSameBitsEverywhere) {
  Random random(3);
  Hash hash;
  const auto add = [&hash](float y) {
    if (std::isnan(y)) y = std::numeric_limits<float>::quiet_NaN();
    hash.add(std::as_bytes(std::span(&y, 1)));
  };
  for (int i = 0; i < 500; ++i) {
    const auto x = static_cast<float>(20 * random.uniform() - 10);
    for (const float scaled : {x, x / 16, x * 1e6F}) {
      for (const Activation& activation : all_activations()) {
        add(apply(activation, scaled));
        if (!is_differentiable(activation)) continue;
        add(traits_of(activation.kind).derivative(activation, scaled));
      }
    }
  }
  EXPECT_EQ(hash.value(), 0x94da1f1deda2b52eu);
}

/// The same for operators with exponentials, logarithms and powers of their own.
TEST(Definitions, GiveTheSameBitsEverywhere) {
  Random random(4);
  const Tensor x = test::random_tensor({4, 6, 5}, random);
  Tensor positive = x.clone();
  for (float& value : positive.as<float>()) value = std::abs(value) + 0.01F;
  const Tensor codes = test::tensor<std::int8_t>({2, 3}, {-128, 5, 127, 3, 2, 1});
  Hash hash;
  const auto add = [&hash](const Tensor& y) { hash.add(y.bytes()); };
  add(test::evaluate(Softmax{1, 1.5F, false}, x));
  add(test::evaluate(Softmax{2, 1, true}, x));
  add(test::evaluate(Softmax{1, 0.25F, false}, codes));
  add(test::evaluate(LocalNormalize{1, 1, 2, 0.3F, 0.75F, 2}, x));
  add(test::evaluate(Reduce{ReduceKind::kLogSum, {1}, false}, positive));
  add(test::evaluate(Reduce{ReduceKind::kLogSumExp, {2}, false}, x));
  add(test::evaluate(Binary{BinaryKind::kPow, {}}, positive, x));
  EXPECT_EQ(hash.value(), 0x1bd8d21ed818d238u);
}

}  // namespace
}  // namespace halftone::ir

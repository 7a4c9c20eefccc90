// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/sequence.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using testing::ElementsAre;
using testing::FloatNear;

Tensor places(const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>({static_cast<Dim>(values.size())}, values);
}

TEST(AppendRows, WritesRowsAtTheirPlaces) {
  const Tensor y = evaluate(AppendRows{}, Tensor(ElementType::kFloat32, {2, 2, 2}),
                            floats({2, 2}, {1, 2, 3, 4}), places({1, 0}), places({0, 1}));
  EXPECT_THAT(elements<float>(y), ElementsAre(0, 0, 3, 4, 1, 2, 0, 0));
}

TEST(AppendRows, RoundsToWhatTheCacheStores) {
  constexpr std::array<float, 4> kRow = {127, 0.6F, 1.0001F, -2};
  const auto append = [&](CacheNumbers numbers, std::size_t heads) {
    return elements<float>(
        evaluate(AppendRows{numbers, heads}, Tensor(ElementType::kFloat32, {1, 1, 4}),
                 floats({1, 4}, {kRow.begin(), kRow.end()}), places({0}), places({0})));
  };
  EXPECT_THAT(append(CacheNumbers::kFloat16, 1)[2], 1.0F);
  // Two heads: sums and differences over the root of 2, of which the larger one is all steps.
  const auto expect_steps = [&](CacheNumbers numbers, double steps) {
    const std::vector<float> y = append(numbers, 2);
    for (std::size_t i = 0; i < 4; i += 2) {
      const double sum = (double{kRow[i]} + kRow[i + 1]) / std::sqrt(2);
      const double difference = (double{kRow[i]} - kRow[i + 1]) / std::sqrt(2);
      const double step = std::max(std::fabs(sum), std::fabs(difference)) / steps;
      const double a = std::nearbyint(sum / step) * step / std::sqrt(2);
      const double b = std::nearbyint(difference / step) * step / std::sqrt(2);
      const double rounding = 8 * 0x1p-24 * steps * step;  // of as many operations at most
      EXPECT_NEAR(y[i], a + b, rounding);
      EXPECT_NEAR(y[i + 1], a - b, rounding);
    }
  };
  expect_steps(CacheNumbers::kInt8, 127);
  expect_steps(CacheNumbers::kInt6, 31);
}

TEST(AppendRows, DescribesWhatIsWrong) {
  const auto append = [](std::int32_t slot, std::int32_t position) {
    return [=] {
      evaluate(AppendRows{}, Tensor(ElementType::kFloat32, {2, 3, 2}), floats({1, 2}, {1, 2}),
               places({slot}), places({position}));
    };
  };
  expect_error(ErrorKind::kShape, "slot: expected 0 to 1, found 2", append(2, 0));
  expect_error(ErrorKind::kShape, "position: expected 0 to 2, found -1", append(0, -1));
}

// Keys of zeros weigh all tokens equally.
TEST(Attention, AveragesTheTokensItSees) {
  const Tensor keys(ElementType::kFloat32, {1, 4, 1});
  const Tensor values = floats({1, 4, 1}, {1, 2, 3, 100});
  const auto attend = [&](std::size_t window) {
    return elements<float>(evaluate(Attention{.window = window}, floats({2, 1}, {5, 5}),
                                    keys.clone(), values.clone(), places({0, 0}), places({1, 2})));
  };
  EXPECT_THAT(attend(0), ElementsAre(1.5F, 2));
  EXPECT_THAT(attend(2), ElementsAre(1.5F, 2.5F));
}

TEST(Attention, WeighsByTheExponentialOfScores) {
  const float ln2 = std::log(2.0F);
  const Tensor y = evaluate(Attention{.scale = 0.5F}, floats({1, 2, 1}, {0, 2}),
                            floats({1, 2, 1}, {0, ln2}), floats({1, 2, 1}, {0, 3}));
  constexpr float kUlp = 0x1p-22F;  // of the result, about 2; six roundings precede it
  EXPECT_NEAR(y.as<float>()[1], 2, 6 * kUlp);
  const Tensor capped = evaluate(Attention{.softcap = 1e-6F}, floats({1, 2, 1}, {0, 2}),
                                 floats({1, 2, 1}, {0, ln2}), floats({1, 2, 1}, {0, 3}));
  // Scores are within 1e-6 of each other, so a weight is within 0.25e-6 of a half.
  EXPECT_NEAR(capped.as<float>()[1], 1.5, 3 * 0.25e-6 + 6 * kUlp);
}

TEST(Attention, SharesKeysAmongHeads) {
  const Tensor y = evaluate(Attention{4, 2}, floats({1, 1, 4}, {1, 1, 1, 1}),
                            floats({1, 1, 2}, {1, 1}), floats({1, 1, 2}, {5, 7}));
  EXPECT_THAT(elements<float>(y), ElementsAre(5, 5, 7, 7));
}

/// Of four equal weights two are those of sinks.
TEST(Attention, GivesSharesToSinks) {
  const auto attend = [&](const std::vector<float>& sinks) {
    const Tensor q = floats({1, 1, 2}, {1, 1});
    const Tensor k = floats({1, 1, 1}, {std::log(2.0F)});
    const Tensor v = floats({1, 1, 1}, {6});
    const Tensor of_heads = floats({static_cast<Dim>(sinks.size())}, sinks);
    const Tensor* inputs[] = {&q, &k, &v, nullptr, nullptr, &of_heads};
    return elements<float>(evaluate_operator(Attention{2, 1}, inputs));
  };
  constexpr float kRounding = 6 * 0x1p-22F;  // six roundings of numbers below 8
  EXPECT_THAT(attend({std::log(2.0F), 0}),
              ElementsAre(FloatNear(3, kRounding), FloatNear(4, kRounding)));
  EXPECT_THAT(attend({-1000, 1000}), ElementsAre(6, 0));
  expect_error(ErrorKind::kShape, "sinks: expected float32[2]", [&] { attend({1}); });
}

TEST(Rotary, TurnsPairs) {
  const auto turn = [](RotaryPairing pairing, std::size_t dims) {
    const auto pairs = static_cast<Dim>(dims / 2);
    return elements<float>(evaluate(Rotary{1, dims, pairing}, floats({1, 4}, {1, 2, 3, 4}),
                                    places({1}), floats({2, pairs}, {9, 9, 0, 0}),
                                    floats({2, pairs}, {9, 9, 1, 1})));
  };
  EXPECT_THAT(turn(RotaryPairing::kNeox, 4), ElementsAre(-3, -4, 1, 2));
  EXPECT_THAT(turn(RotaryPairing::kInterleaved, 4), ElementsAre(-2, 1, -4, 3));
}

TEST(Rotary, KeepsTheRestOfAHead) {
  const Tensor y = evaluate(Rotary{1, 2, RotaryPairing::kNeox}, floats({1, 4}, {1, 2, 3, 4}),
                            places({0}), floats({1, 1}, {0}), floats({1, 1}, {1}));
  EXPECT_THAT(elements<float>(y), ElementsAre(-2, 1, 3, 4));
}

TEST(Sequence, ShapesThatDoNotFitAreErrors) {
  const auto attend = [](const Attention& op, const Shape& q, const Shape& k, const Shape& v) {
    return [=] {
      evaluate(op, Tensor(ElementType::kFloat32, q), Tensor(ElementType::kFloat32, k),
               Tensor(ElementType::kFloat32, v));
    };
  };
  expect_error(ErrorKind::kShape, "heads that are a multiple of the 2",
               attend({3, 2}, {1, 1, 3}, {1, 1, 2}, {1, 1, 2}));
  expect_error(ErrorKind::kShape, "expected heads of 2 numbers",
               attend({2, 1}, {1, 1, 2}, {1, 1, 2}, {1, 1, 2}));
  expect_error(ErrorKind::kShape, "expected the same tokens",
               attend({1, 1}, {1, 2, 2}, {1, 2, 2}, {1, 3, 2}));
  expect_error(ErrorKind::kShape, "dims: expected an even number up to the 2 of a head", [] {
    evaluate(Rotary{2, 4}, Tensor(ElementType::kFloat32, {1, 4}), places({0}),
             Tensor(ElementType::kFloat32, {1, 2}), Tensor(ElementType::kFloat32, {1, 2}));
  });
}

}  // namespace
}  // namespace halftone::ir

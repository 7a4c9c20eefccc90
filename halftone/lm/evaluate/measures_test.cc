// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/evaluate/measures.h"

#include <cmath>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

/// Of one operation in double.
constexpr double kUnit = 0x1p-53;

std::vector<double> log_softmax_of(const std::vector<float>& logits) {
  std::vector<double> out(logits.size());
  log_softmax(logits, out);
  return out;
}

std::vector<float> random_logits(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = static_cast<float>(8 * random.uniform());
  return logits;
}

TEST(LogSoftmax, IsThatOfLongDouble) {
  const std::vector<float> logits = random_logits(1000, 1);
  long double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
  const std::vector<double> found = log_softmax_of(logits);
  // exp has a relative error below 4 units, a sum of n terms n units more; log then adds 8 units of
  // its value, which is below 16, and the subtractions of numbers below 16 one unit of it each.
  const double bound = (4 + 1000) * kUnit + 10 * 16 * kUnit;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(found[i], static_cast<double>(logits[i] - std::log(sum)), bound);
  }
}

TEST(LogSoftmax, BearsLargeAndInfiniteLogits) {
  const std::vector<double> found = log_softmax_of({1e30F, -1e30F, -kInfinity, 1e30F});
  EXPECT_NEAR(found[0], -std::log(2), 4 * kUnit);
  EXPECT_EQ(found[0], found[3]);
  EXPECT_EQ(found[2], -kInfinity);
  EXPECT_EQ(log_softmax_of({-5})[0], 0);
  const auto expect = [](const std::string& text, const std::vector<float>& logits) {
    expect_error(ErrorKind::kFormat, text, [&] { log_softmax_of(logits); });
  };
  expect("logit of token 1: expected a number, found NaN", {0, kNan});
  expect("found inf", {kInfinity});
  expect("found none", {-kInfinity});
}

TEST(KlDivergence, IsThatOfTheFormula) {
  const std::vector<double> p{std::log(0.5), std::log(0.5), -kInfinity};
  const std::vector<double> q{std::log(0.25), std::log(0.5), std::log(0.25)};
  // 0.5 log 2; each of the two terms has a few roundings.
  EXPECT_NEAR(kl_divergence(p, q), 0.5 * std::log(2), 8 * kUnit);
  EXPECT_EQ(kl_divergence(p, p), 0);
  EXPECT_EQ(kl_divergence(q, p), kInfinity);
}

TEST(Means, HaveStandardErrors) {
  Mean mean;
  EXPECT_EQ(mean.estimate().standard_error, 0);
  for (const double x : {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 6}) mean.add(x);
  EXPECT_EQ(mean.estimate().value, 1e9 + 3);
  // The squares are 4 + 1 + 0 + 9 = 14. A rounding of the mean is 2^-24 at most, so a square of
  // up to 9 is off by 6 * 2^-24, and the root by its fraction.
  EXPECT_NEAR(mean.estimate().standard_error, std::sqrt(14.0 / 3 / 4), 4 * 6 * 0x1p-24);
  const Estimate e = exp_of({0, 0.5});
  EXPECT_EQ(e.value, 1);
  EXPECT_EQ(e.standard_error, 0.5);
}

TEST(Quantiles, AreValues) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(quantile(values, 0.99).value, 99);
  EXPECT_EQ(quantile(values, 0.5).value, 50);
  // sqrt(100 * 0.5 * 0.5) = 5: the values of ranks 55 and 45.
  EXPECT_EQ(quantile(values, 0.5).standard_error, 5);
  EXPECT_EQ(quantile(values, 1).value, 100);
  EXPECT_EQ(quantile({3}, 0.99).value, 3);
  EXPECT_EQ(quantile({3}, 0.99).standard_error, 0);
  EXPECT_EQ(quantile({}, 0.99).value, 0);
}

TEST(TokenMeasures, CompareTwoModels) {
  const std::vector<float> logits = random_logits(100, 2);
  const std::vector<float> reference = random_logits(100, 3);
  const TokenMeasures same = measure_token(logits, logits, 7);
  EXPECT_EQ(same.loss, same.reference_loss);
  EXPECT_EQ(same.kl, 0);
  EXPECT_TRUE(same.same_top);
  const TokenMeasures other = measure_token(logits, reference, 7);
  EXPECT_EQ(other.loss, same.loss);
  EXPECT_EQ(other.reference_loss, measure_token(reference, {}, 7).loss);
  EXPECT_GT(other.kl, 0);
  EXPECT_FALSE(other.same_top);
  EXPECT_EQ(measure_token(logits, {}, 7).kl, 0);
  for (const TokenId token : {-1, 100}) {
    expect_error(ErrorKind::kUsage, "token: expected 0 to 99, which the model has, found",
                 [&] { measure_token(logits, {}, token); });
  }
}

}  // namespace
}  // namespace halftone::lm

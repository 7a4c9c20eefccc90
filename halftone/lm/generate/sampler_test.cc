// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

/// Draws from all tokens.
SamplingOptions plain(double temperature = 1) {
  SamplingOptions options;
  options.temperature = temperature;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

std::map<TokenId, std::size_t> counts(const SamplingOptions& options,
                                      const std::vector<float>& logits, std::size_t draws) {
  Sampler sampler(options);
  std::map<TokenId, std::size_t> counts;
  for (std::size_t i = 0; i < draws; ++i) ++counts[sampler.sample(logits)];
  return counts;
}

std::set<TokenId> drawn(const SamplingOptions& options, const std::vector<float>& logits) {
  std::set<TokenId> tokens;
  for (const auto& [token, count] : counts(options, logits, 3000)) tokens.insert(token);
  return tokens;
}

/// Logits of these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

/// Checks that tokens are drawn with these probabilities. The count of a token has the deviation
/// sqrt(n p (1 - p)). By Hoeffding's inequality it is off by more than sqrt(n log(2 / e) / 2) with
/// probability e at most: here 1e-9.
void expect_distribution(const std::map<TokenId, std::size_t>& counts,
                         const std::vector<double>& probabilities, std::size_t draws) {
  const auto n = static_cast<double>(draws);
  const double bound = std::sqrt(n * std::log(2 / 1e-9) / 2);
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const auto found = counts.find(static_cast<TokenId>(i));
    const double count = found == counts.end() ? 0 : static_cast<double>(found->second);
    EXPECT_NEAR(count, n * probabilities[i], bound) << i;
    if (probabilities[i] == 0) {
      EXPECT_EQ(count, 0) << i;
    }
  }
}

TEST(Samplers, TakeTheHighestLogitAtTemperatureZero) {
  EXPECT_EQ(greedy_token(std::vector<float>{1, 3, 2}), 1);
  EXPECT_EQ(greedy_token(std::vector<float>{-kInfinity, 3, 3}), 1);
  EXPECT_EQ(counts({.temperature = 0}, {0, 1, 1, 0}, 50).size(), 1U);
}

TEST(Samplers, DrawWithTheProbabilitiesOfTheTemperature) {
  constexpr std::size_t kDraws = 200000;
  const std::vector<double> p{0.5, 0.3, 0.15, 0.05};
  expect_distribution(counts(plain(), logits_of(p), kDraws), p, kDraws);
  // At temperature 1/2 probabilities are squared: the sum of squares is 0.365.
  std::vector<double> squared;
  for (const double each : p) squared.push_back(each * each / 0.365);
  expect_distribution(counts(plain(0.5), logits_of(p), kDraws), squared, kDraws);
}

TEST(Samplers, DrawFromManyTokensWithoutSortingThem) {
  constexpr std::size_t kDraws = 5000;
  constexpr std::size_t kTokens = 1000;
  std::vector<double> p(kTokens);
  for (std::size_t i = 0; i < kTokens; ++i) p[i] = static_cast<double>(i % 7 + 1);
  double sum = 0;
  for (const double each : p) sum += each;
  const std::vector<float> logits = logits_of(p);
  for (double& each : p) each /= sum;
  expect_distribution(counts(plain(), logits, kDraws), p, kDraws);
  SamplingOptions half = plain();
  half.top_p = 0.5;
  const auto found = counts(half, logits, 500);
  for (const auto& [token, count] : found) EXPECT_GE(token % 7, 4) << token;
}

TEST(Samplers, DrawWhereTheSumOfSortedProbabilitiesReachesAShare) {
  // Logits from -50 to 10, in steps of 1/8, so that many are equal.
  Random values(5);
  std::vector<float> logits(20'000);
  for (float& each : logits) each = std::round(static_cast<float>(values.uniform()) * 480) / 8 - 50;
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return logits[i]; });
  for (const double temperature : {0.01, 1.0, 40.0}) {
    std::vector<double> sums(1, 0.0);  // in front of each token
    for (const std::size_t i : order) {
      sums.push_back(sums.back() + std::exp((double{logits[i]} - 10) / temperature));
    }
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SamplingOptions options = plain(temperature);
      options.seed = seed;
      const auto token = static_cast<std::size_t>(Sampler(options).sample(logits));
      const auto at = static_cast<std::size_t>(std::ranges::find(order, token) - order.begin());
      // Logarithms of weights are rounded to float32, so that a weight above e^-29, below which all
      // are nothing, is off by 29 * 2^-24 of itself, and by two units of exp() in float32.
      const double wanted = Random(seed).uniform() * sums.back();
      const double bound = 31 * 0x1p-23 * sums.back();
      EXPECT_LE(sums[at], wanted + bound) << temperature << ", " << seed;
      EXPECT_GE(sums[at + 1], wanted - bound) << temperature << ", " << seed;
    }
  }
}

TEST(Samplers, KeepTheTopTokens) {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.1, 0.4});
  SamplingOptions options = plain();
  options.top_k = 3;
  EXPECT_THAT(drawn(options, logits), ElementsAre(0, 1, 3)) << "of equal ones the lowest id";
  options = plain();
  options.top_p = 0.7;
  EXPECT_THAT(drawn(options, logits), ElementsAre(1, 3));
  options.top_p = 0.85;
  EXPECT_THAT(drawn(options, logits), ElementsAre(0, 1, 3));
  options.top_p = 1e-9;
  EXPECT_THAT(drawn(options, logits), ElementsAre(1));
  options = plain();
  options.min_p = 0.26;
  EXPECT_THAT(drawn(options, logits), ElementsAre(1, 3));
  options.min_p = 0.24;
  EXPECT_EQ(drawn(options, logits).size(), 4U);
  options.min_p = 1;
  EXPECT_THAT(drawn(options, logits), ElementsAre(1, 3));
}

TEST(Samplers, ApplyTheStepsOneAfterAnother) {
  // The two that top-k leaves have the probabilities 0.6 and 0.4; top-p is of these.
  SamplingOptions options = plain();
  options.top_k = 2;
  options.top_p = 0.55;
  EXPECT_THAT(drawn(options, logits_of({0.3, 0.2, 0.19, 0.16, 0.15})), ElementsAre(0));
  // Temperature comes last: top-p sees probabilities without it.
  options = plain(100);
  options.top_p = 0.55;
  EXPECT_THAT(drawn(options, logits_of({0.6, 0.2, 0.2})), ElementsAre(0));
}

TEST(Samplers, LowerTheLogitsOfRepeatedTokens) {
  SamplingOptions options = plain(0);
  options.repeat_penalty = 2;
  options.repeat_window = 2;
  Sampler sampler(options);
  const std::vector<float> logits{4, 3, -1, -1.5F};
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(logits), 1) << "4 / 2 < 3";
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(logits), 0) << "4 / 2 > 3 / 2";
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(logits), 0) << "the window has forgotten 0";
  sampler.accept(2);
  EXPECT_EQ(sampler.sample(std::vector<float>{-3, -3, -1, -1.5F}), 3) << "-1 * 2 < -1.5";
  sampler.accept(1000);
  EXPECT_EQ(sampler.sample(logits), 0) << "the model has no such token";
  options.repeat_window = 0;
  Sampler without(options);
  without.accept(0);
  EXPECT_EQ(without.sample(logits), 0);
}

TEST(Samplers, TakePenaltiesOfWhatWasWritten) {
  // Keskar's penalty aside, those of OpenAI: l - presence - n frequency.
  SamplingOptions options = plain(0);
  options.presence_penalty = 0.5;
  options.frequency_penalty = 1;
  Sampler sampler(options);
  const std::vector<float> logits{4, 3, 1.75F};
  sampler.accept(0, false);
  EXPECT_EQ(sampler.sample(logits), 0) << "a prompt does not count";
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(logits), 1) << "4 - 0.5 - 1 < 3";
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(logits), 0) << "2.5 > 3 - 1.5";
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(logits), 2) << "4 - 0.5 - 2 < 1.75";
}

TEST(Samplers, AddBiases) {
  SamplingOptions options = plain(0);
  options.logit_bias = {{0, -100}, {2, 1.5}, {1000, 5}};
  EXPECT_EQ(Sampler(options).sample(std::vector<float>{4, 3, 2}), 2);
  options.logit_bias = {{0, -100}};
  EXPECT_EQ(Sampler(options).sample(std::vector<float>{4}), 0) << "there is no other";
}

TEST(Samplers, AreTheSameForTheSameSeed) {
  std::vector<float> logits(500);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * i % 97) / 10;
  const auto tokens = [&](std::uint64_t seed) {
    SamplingOptions options;
    options.temperature = 0.8;
    options.seed = seed;
    Sampler sampler(options);
    std::vector<TokenId> drawn;
    for (int i = 0; i < 8; ++i) drawn.push_back(sampler.sample(logits));
    return drawn;
  };
  EXPECT_EQ(tokens(7), tokens(7));
  EXPECT_NE(tokens(7), tokens(8));
  // Golden values of this code, which hold on every processor.
  EXPECT_THAT(tokens(0), ElementsAre(141, 211, 22, 335, 172, 17, 269, 362));
}

TEST(Samplers, RefuseWhatIsNoNumber) {
  const auto expect = [](const std::string& text, const std::vector<float>& logits) {
    expect_error(ErrorKind::kFormat, text, [&] { (void)greedy_token(logits); });
    expect_error(ErrorKind::kFormat, text, [&] { (void)Sampler(plain()).sample(logits); });
  };
  expect("logit of token 1: expected a number, found NaN", {0, kNan});
  expect("found inf", {kInfinity});
  expect("found none", {-kInfinity, -kInfinity});
  expect("found none", {});
  const auto expect_usage = [](const std::string& text, const SamplingOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { Sampler sampler(options); });
  };
  expect_usage("temperature: expected a number of at least 0, found -1", {.temperature = -1});
  expect_usage("found NaN", {.temperature = kNan});
  for (const double p : {0.0, -0.5, 1.5, std::nan("")}) {
    expect_usage("top-p: expected a number above 0, of 1 at most, found", {.top_p = p});
  }
  expect_usage("min-p: expected a number from 0 to 1", {.min_p = 2});
  expect_usage("presence penalty: expected a number from -2 to 2", {.presence_penalty = 3});
  expect_usage("frequency penalty: expected a number from -2 to 2", {.frequency_penalty = kNan});
  expect_usage("logit bias of token 7: expected a number", {.logit_bias = {{7, kInfinity}}});
  expect_usage("repeat penalty: expected a number above 0", {.repeat_penalty = 0});
}

}  // namespace
}  // namespace halftone::lm

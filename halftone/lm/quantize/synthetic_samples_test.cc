// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/synthetic_samples.h"

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kTokens = 9;

class SyntheticSamples : public testing::Test {
 protected:
  static Decoder decoder(int threads = 1) {
    const Description d = small_description("llama");
    return {
        build_decoder(d, small_weights(d), {.sequences = kSyntheticSequences, .context = kTokens}),
        {.threads = threads}};
  }
  static SyntheticOptions options() {
    SyntheticOptions options;
    options.count = kSyntheticSequences + 3;
    options.tokens = kTokens;
    options.first_tokens = {2, 5, 7};
    options.num_tokens = 10;
    options.seed = 4;
    return options;
  }
  static std::vector<std::vector<TokenId>> write(const SyntheticOptions& options, int threads = 1,
                                                 std::vector<std::vector<TokenId>> known = {}) {
    Decoder model = decoder(threads);
    write_samples(model, options, known);
    return known;
  }
};

TEST_F(SyntheticSamples, BeginWithRandomTokens) {
  const auto samples = write(options());
  ASSERT_EQ(samples.size(), kSyntheticSequences + 3);
  std::array<int, 10> firsts{};
  for (const auto& sample : samples) {
    ASSERT_EQ(sample.size(), kTokens);
    ++firsts.at(static_cast<std::size_t>(sample[0]));
    for (const TokenId token : sample) EXPECT_TRUE(token >= 0 && token < 10) << token;
  }
  EXPECT_EQ(firsts[2] + firsts[5] + firsts[7], kSyntheticSequences + 3);
  // Each is missing with a probability of (2/3)^19 < 0.001; the seed is fixed.
  EXPECT_TRUE(firsts[2] > 0 && firsts[5] > 0 && firsts[7] > 0);
  SyntheticOptions with_begin = options();
  with_begin.begin = 1;
  for (const auto& sample : write(with_begin)) {
    ASSERT_EQ(sample.size(), kTokens);
    EXPECT_EQ(sample[0], 1);
    EXPECT_TRUE(sample[1] == 2 || sample[1] == 5 || sample[1] == 7);
  }
}

TEST_F(SyntheticSamples, FollowTheModel) {
  // The frequencies of the second token are the probabilities that the model gives, within four
  // standard errors.
  SyntheticOptions many = options();
  many.count = 1600;
  many.tokens = 2;
  many.first_tokens = {5};
  std::array<double, 10> counts{};
  for (const auto& sample : write(many)) counts.at(static_cast<std::size_t>(sample[1])) += 1;
  Decoder model = decoder();
  const std::vector<float> logits = model.append(0, std::vector<TokenId>{5}, false);
  double sum = 0;
  for (std::size_t i = 0; i < 10; ++i) sum += std::exp(double{logits[i]});
  for (std::size_t i = 0; i < 10; ++i) {
    const double p = std::exp(double{logits[i]}) / sum;
    EXPECT_NEAR(counts[i] / 1600, p, 4 * std::sqrt(p * (1 - p) / 1600)) << i;
  }
}

TEST_F(SyntheticSamples, AreTheSameForAllThreadsAndAfterAnInterruption) {
  const auto samples = write(options());
  EXPECT_EQ(write(options(), 2), samples);
  std::size_t saved = 0;
  SyntheticOptions stopped = options();
  std::vector<std::vector<TokenId>> known;
  stopped.on_samples = [&](const auto& so_far) {
    ++saved;
    known = so_far;
    if (so_far.size() < stopped.count) fail(ErrorKind::kInterrupted, "stopped");
  };
  expect_error(ErrorKind::kInterrupted, "stopped", [&] { (void)write(stopped); });
  EXPECT_EQ(known.size(), kSyntheticSequences);
  EXPECT_EQ(write(options(), 1, known), samples);
  EXPECT_EQ(saved, 1U);
  SyntheticOptions other = options();
  other.seed = 5;
  EXPECT_NE(write(other), samples);
}

}  // namespace
}  // namespace halftone::lm

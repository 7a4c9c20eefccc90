// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/evaluate/text_evaluation.h"

#include <cmath>

#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/base/state/testing.h"
#include "halftone/base/testing.h"
#include "halftone/lm/generate/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

TEST(Windows, CoverAText) {
  EXPECT_THAT(windows_of(10, {.context = 4}),
              ElementsAre(Window{0, 4, 1}, Window{4, 4, 1}, Window{8, 2, 1}));
  EXPECT_THAT(windows_of(9, {.context = 4}), ElementsAre(Window{0, 4, 1}, Window{4, 4, 1}))
      << "one token predicts nothing";
  EXPECT_THAT(windows_of(3, {.context = 4}), ElementsAre(Window{0, 3, 1}));
  EXPECT_THAT(windows_of(10, {.context = 4, .limit = 1}), ElementsAre(Window{0, 4, 1}));
}

TEST(Windows, CountEveryTokenOnceWhereTheyOverlap) {
  EXPECT_THAT(windows_of(9, {.context = 4, .stride = 2}),
              ElementsAre(Window{0, 4, 1}, Window{2, 4, 2}, Window{4, 4, 2}, Window{6, 3, 2}));
  for (const std::size_t stride : {1U, 2U, 3U, 6U}) {
    std::vector<int> times(40);
    for (const Window& window : windows_of(40, {.context = 7, .stride = stride})) {
      for (std::size_t i = window.counted; i < window.size; ++i) ++times[window.begin + i];
    }
    EXPECT_EQ(std::ranges::count(times, 1), 39) << stride;
    EXPECT_EQ(times[0], 0);
  }
}

TEST(Windows, CountTheSecondHalfAsLlamaCppDoes) {
  EXPECT_THAT(windows_of(19, {.context = 8, .second_half = true}),
              ElementsAre(Window{0, 8, 5}, Window{8, 8, 5}));
}

TEST(Windows, RefuseWhatDoesNotFit) {
  const auto expect = [](const std::string& text, std::size_t num_tokens,
                         const WindowOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { (void)windows_of(num_tokens, options); });
  };
  expect("context: expected 2 tokens or more, found 1", 10, {.context = 1});
  expect("stride: expected 1 to 4, which is the context, found 5", 10, {.context = 4, .stride = 5});
  expect("stride: expected none", 10, {.context = 4, .stride = 2, .second_half = true});
  expect("text: expected 2 tokens or more, found 1", 1, {});
  expect("text: expected 512 tokens or more, found 511", 511, {.second_half = true});
}

constexpr std::size_t kVocabulary = 20;

class TextEvaluations : public WithFolder {
 protected:
  /// Predicts what follows in "0 1 2 3 0 1 2 ..." with a logit above the others, which are 0.
  static ParrotModel model(float certainty) {
    return ParrotModel(kVocabulary, 1000, {0, 1, 2, 3, 0}, certainty);
  }
  /// -log p of the token that the model expects, or of another.
  static double loss(double certainty, bool is_expected) {
    return std::log(std::exp(certainty) + kVocabulary - 1) - (is_expected ? certainty : 0);
  }
  static std::vector<TokenId> text() {
    std::vector<TokenId> tokens;
    for (TokenId i = 0; i < 400; ++i) tokens.push_back(i % 100 == 99 ? 9 : i % 4);
    return tokens;
  }
};

TEST_F(TextEvaluations, MeasurePerplexity) {
  ParrotModel parrot = model(2);
  const std::vector<TokenId> tokens = text();
  const TextEvaluation found = evaluate_text({.model = parrot, .tokens = tokens, .windows = {100}});
  EXPECT_EQ(found.num_windows, 4U);
  EXPECT_EQ(found.num_tokens, 4 * 99U);
  // Each window ends with the token 9, which the model does not expect.
  const double right = loss(2, true);
  const double wrong = loss(2, false);
  const double mean = (98 * right + wrong) / 99;
  // Errors of log and exp are some units of the value; the mean adds one for each token.
  const double bound = (400 + 32) * 0x1p-53 * wrong;
  EXPECT_NEAR(found.loss.value, mean, bound);
  EXPECT_NEAR(found.perplexity.value, std::exp(mean), 2 * bound * std::exp(mean));
  const double squares = 4 * (98 * std::pow(right - mean, 2) + std::pow(wrong - mean, 2));
  EXPECT_NEAR(found.loss.standard_error, std::sqrt(squares / 395 / 396), 4 * bound);
  EXPECT_FALSE(found.reference);
}

TEST_F(TextEvaluations, VisitEveryTokenThatCountsInOrder) {
  ParrotModel parrot = model(2);
  ParrotModel reference = model(3);
  const std::vector<TokenId> tokens = text();
  std::vector<MeasuredToken> seen;
  (void)evaluate_text({.model = parrot,
                       .reference = &reference,
                       .tokens = tokens,
                       .windows = {100},
                       .visit = [&](const MeasuredToken& token) { seen.push_back(token); }});
  ASSERT_EQ(seen.size(), 4 * 99U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].position, i % 99 + 1);
    EXPECT_EQ(seen[i].index, 100 * (i / 99) + seen[i].position);
    const bool is_expected = tokens[seen[i].index] == seen[i].measures.top;
    EXPECT_NEAR(seen[i].measures.loss, loss(2, is_expected), 64 * 0x1p-53);
    EXPECT_EQ(seen[i].measures.top, seen[i].measures.reference_top);
  }
}

TEST_F(TextEvaluations, CompareWithAReference) {
  ParrotModel parrot = model(1);
  ParrotModel reference = model(3);
  const std::vector<TokenId> tokens = text();
  const TextEvaluation found =
      evaluate_text({.model = parrot, .reference = &reference, .tokens = tokens, .windows = {100}});
  ASSERT_TRUE(found.reference);
  // After 3 and 9 the models know nothing: KL is 0 there. "3 0" is in the text they know.
  const double p = std::exp(-loss(3, true));
  const double rest = std::exp(-loss(3, false)) * (kVocabulary - 1);
  const double kl = p * (loss(1, true) - loss(3, true)) + rest * (loss(1, false) - loss(3, false));
  EXPECT_NEAR(found.reference->mean_kl.value, kl, 1000 * 0x1p-53);
  EXPECT_NEAR(found.reference->kl_99.value, kl, 1000 * 0x1p-53);
  EXPECT_EQ(found.reference->same_top.value, 1);
  EXPECT_EQ(found.reference->same_top.standard_error, 0);
  const double bound = 2000 * 0x1p-53 * found.perplexity.value;
  EXPECT_NEAR(found.reference->ratio.value,
              found.perplexity.value / found.reference->perplexity.value, bound);
}

TEST_F(TextEvaluations, BeginEveryWindowWithTheBeginToken) {
  ParrotModel parrot = model(1);
  std::vector<TokenId> tokens = text();
  (void)evaluate_text({.model = parrot, .tokens = tokens, .begin = 7, .windows = {200}});
  EXPECT_EQ(parrot.runs.front().front(), 0) << "the text does not begin with it";
  parrot.runs.clear();
  tokens.front() = 7;
  (void)evaluate_text({.model = parrot, .tokens = tokens, .begin = 7, .windows = {200}});
  std::size_t begins = 0;
  for (const auto& run : parrot.runs) begins += run.front() == 7 ? 1U : 0U;
  EXPECT_EQ(begins, 2U);
}

TEST_F(TextEvaluations, GiveTheSameBitsForAnyNumberOfThreads) {
  const std::vector<TokenId> tokens = text();
  const auto evaluate = [&] {
    ParrotModel parrot = model(1);
    ParrotModel reference = model(3);
    return evaluate_text({.model = parrot,
                          .reference = &reference,
                          .tokens = tokens,
                          .windows = {.context = 90, .stride = 33}});
  };
  const TextEvaluation found = evaluate();
  const ThreadLimit one(1);
  const TextEvaluation alone = evaluate();
  EXPECT_EQ(found.loss.value, alone.loss.value);
  EXPECT_EQ(found.reference->mean_kl.standard_error, alone.reference->mean_kl.standard_error);
  EXPECT_EQ(found.num_tokens, 399U);
}

TEST_F(TextEvaluations, ContinueFromTheirState) {
  const std::vector<TokenId> tokens = text();
  ParrotModel parrot = model(1);
  ParrotModel reference = model(3);
  TextEvaluationJob job{.model = parrot,
                        .reference = &reference,
                        .tokens = tokens,
                        .windows = {64},
                        .identity = {{"model", "a"}}};
  const TextEvaluation whole = evaluate_text(job);
  job.state = path("state.json");
  job.progress = [](double fraction, std::string_view) {
    if (fraction > 0.4) fail(ErrorKind::kInterrupted, "stopped");
  };
  expect_error(ErrorKind::kInterrupted, "stopped", [&] { evaluate_text(job); });
  job.progress = {};
  parrot.runs.clear();
  const TextEvaluation found = evaluate_text(job);
  EXPECT_LT(parrot.runs.size(), 5U) << "the rest only";
  EXPECT_EQ(found.loss.value, whole.loss.value);
  EXPECT_EQ(found.loss.standard_error, whole.loss.standard_error);
  EXPECT_EQ(found.reference->kl_99.value, whole.reference->kl_99.value);
  EXPECT_EQ(found.reference->ratio.value, whole.reference->ratio.value);
  parrot.runs.clear();
  EXPECT_EQ(evaluate_text(job).loss.value, whole.loss.value);
  EXPECT_TRUE(parrot.runs.empty());
  expect_flips_are_noticed(job.state.string(), [&] {
    const TextEvaluation read = evaluate_text(job);
    return std::to_string(read.loss.value) + " " + std::to_string(read.reference->kl_99.value);
  });
  job.identity = {{"model", "b"}};
  expect_error(ErrorKind::kFormat,
               "state.json: has measures of a text of another job: expected model 'b', found 'a'",
               [&] { evaluate_text(job); });
  job.identity = {{"model", "a"}};
  job.windows = {32};
  expect_error(ErrorKind::kFormat, "expected windows 'context 32, stride 0, limit 0', found",
               [&] { evaluate_text(job); });
}

TEST_F(TextEvaluations, RefuseModelsThatDoNotFit) {
  const std::vector<TokenId> tokens = text();
  ParrotModel parrot = model(1);
  ParrotModel short_one(kVocabulary, 98, {0, 1});
  expect_error(ErrorKind::kUsage,
               "expected at most the 98 tokens of the model, found windows of "
               "100",
               [&] { evaluate_text({.model = short_one, .tokens = tokens, .windows = {100}}); });
  ParrotModel wide(kVocabulary + 1, 1000, {0, 1});
  expect_error(ErrorKind::kShape, "expected a vocabulary of 20 tokens, as the model has, found 21",
               [&] { evaluate_text({.model = parrot, .reference = &wide, .tokens = tokens}); });
  ParrotModel broken(kVocabulary, 1000, {0, 1}, kNan);
  expect_error(ErrorKind::kFormat, "expected a number, found NaN",
               [&] { evaluate_text({.model = broken, .tokens = tokens}); });
  ParrotModel sure(kVocabulary, 1000, {0, 2}, -kInfinity);
  expect_error(ErrorKind::kFormat, "has probability 0", [&] {
    evaluate_text({.model = sure, .tokens = std::vector<TokenId>{0, 2, 1}});
  });
}

}  // namespace
}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/sample_warnings.h"

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Samples of 16 different tokens, three to fit and one held out of each text: an entropy of log 16
/// = 2.77 nats.
Samples samples_of(std::size_t texts) {
  Samples samples{16, {}, {}};
  std::vector<TokenId> tokens;
  for (TokenId i = 0; i < 16; ++i) tokens.push_back(i);
  for (std::size_t i = 0; i < 3 * texts; ++i) {
    samples.fit.push_back(tokens);
    samples.texts.push_back(i / 3);
  }
  for (std::size_t i = 0; i < texts; ++i) {
    samples.held_out.push_back(tokens);
    samples.texts.push_back(i);
  }
  return samples;
}

std::vector<std::string> warnings(std::size_t texts, const std::vector<double>& losses,
                                  std::size_t characters = 300) {
  const Samples samples = samples_of(texts);
  std::vector<SampleText> all;
  for (std::size_t i = 0; i < texts; ++i) {
    all.push_back({std::string(1, static_cast<char>('a' + i)), characters, 100});
  }
  return warn_of_strange_texts({samples, all, losses});
}

TEST(SampleWarnings, AreNoneForGoodTexts) {
  EXPECT_THAT(warnings(1, {1.5, 2, 1.8, 2.2}), IsEmpty());
  EXPECT_THAT(warnings(2, {1.5, 2, 1.8, 1.9, 2.1, 1.7, 2.2, 1.6}), IsEmpty());
}

TEST(SampleWarnings, NameTextsThatTheModelDoesNotKnow) {
  EXPECT_THAT(
      warnings(1, {2.9, 2.8, 2.7, 2.8}),
      ElementsAre("a: the model does not know such a text: its loss is 2.80 nats per token, "
                  "frequencies of tokens alone give 2.77"));
  EXPECT_THAT(warnings(1, {1, 1, 1, 1}, 90),
              ElementsAre("a: the tokenizer does not know such a text: it splits its 90 characters "
                          "into 100 tokens"));
}

TEST(SampleWarnings, NameTextsThatAreUnlikeTheOthers) {
  // The second of three texts, by 1.5 nats; the others are 0.75 nats from the mean of the rest.
  EXPECT_THAT(warnings(3, {1, 1.1, 0.9, 2.4, 2.5, 2.6, 1, 1.1, 0.9, 1, 2.5, 1}),
              ElementsAre("b: is unlike the other texts: the model's loss is 2.50 nats per token, "
                          "of the others 1.00"));
  // A gap that samples of one text have as well says nothing: standard deviation 1.3, error 0.9.
  EXPECT_THAT(warnings(2, {0.1, 2.6, 0.1, 2.6, 0.2, 2.7, 0.1, 2.7}), IsEmpty());
}

TEST(SampleWarnings, CompareSamplesHeldOut) {
  EXPECT_THAT(warnings(2, {1, 1, 1, 1, 1, 1, 2.6, 2.6}), IsEmpty());  // an error of 0.8 nats
  const Samples samples = samples_of(8);
  std::vector<SampleText> texts(8, {"a", 300, 100});
  std::vector<double> losses(32, 0.5);
  std::fill(losses.begin() + 24, losses.end(), 2.5);
  const auto found = warn_of_strange_texts({samples, texts, losses});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0],
            "samples held out are unlike those to fit: the model's loss is 2.50 nats per token, of "
            "those to fit 0.50");
  const SampleLosses means = mean_losses({samples, texts, losses});
  EXPECT_DOUBLE_EQ(means.fit, 0.5);
  EXPECT_DOUBLE_EQ(means.held_out, 2.5);
}

TEST(SampleWarnings, CountTokens) {
  const Samples samples = samples_of(1);
  EXPECT_THAT(warn_of_few_tokens(samples, 48, "m"), IsEmpty());
  EXPECT_THAT(warn_of_few_tokens(samples, 49, "m"),
              ElementsAre(HasSubstr("48 tokens to fit are fewer than the 49 inputs of m")));
}

TEST(SampleWarnings, SayHowFewDocumentsThereAre) {
  Samples samples = samples_of(4);
  samples.documents = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 4, 4};
  EXPECT_THAT(warn_of_narrow_samples(samples), IsEmpty());
  samples.documents[11] = 2;  // 12 to fit of 3 documents
  const std::string end =
      "; give more documents, with titles or blank lines between them or as several files";
  EXPECT_THAT(warn_of_narrow_samples(samples),
              ElementsAre("12 samples to fit from 3 documents: a fit to few of them is worse for "
                          "others" +
                          end));
  samples.documents.assign(16, 7);
  EXPECT_THAT(warn_of_narrow_samples(samples),
              ElementsAre("12 samples to fit from 1 document: a fit to few of them is worse for "
                          "others, and samples held out of the same ones do not show it" +
                          end));
}

TEST(SampleWarnings, SayThatSamplesAdjoin) {
  Samples samples = samples_of(4);
  for (std::size_t i = 0; i < 16; ++i) samples.documents.push_back(i);
  samples.adjoining = 8;
  EXPECT_THAT(warn_of_narrow_samples(samples), IsEmpty());
  samples.adjoining = 9;
  EXPECT_THAT(warn_of_narrow_samples(samples),
              ElementsAre(HasSubstr("9 of 12 samples to fit begin where another one ends")));
}

}  // namespace
}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// What the libraries say of a language model is what is inside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halftone/language.h>

#include <optional>

#include "halftone/api/language_model.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/testing.h"
#include "tests/tiny_language_model.h"

namespace halftone {
namespace {

class LanguageApi : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    const TinyLanguageModel tiny(path("tiny.bin"));
    inside_.emplace(TextModel::open(tiny.path(), {{.tokenizer = tiny.tokenizer()}}));
    const std::string tokenizer = tiny.tokenizer();
    halftone_language_options options{};
    options.struct_bytes = sizeof options;
    options.tokenizer = tokenizer.c_str();
    EXPECT_EQ(halftone_context_create(nullptr, &context_), HALFTONE_OK);
    EXPECT_EQ(halftone_language_model_load(context_, tiny.path().c_str(), &options, &c_),
              HALFTONE_OK)
        << halftone_error_message();
  }
  void TearDown() override {
    halftone_language_model_destroy(c_);
    halftone_context_destroy(context_);
    WithFolder::TearDown();
  }

  std::optional<TextModel> inside_;
  halftone_context* context_ = nullptr;
  halftone_language_model* c_ = nullptr;
};

TEST_F(LanguageApi, HasTheTokensAndLogitsOfTheDecoder) {
  const std::vector<lm::TokenId> expected = inside_->tokenize("Hello");
  std::vector<lm::TokenId> tokens(20);
  halftone_tokens room = {tokens.data(), tokens.size(), 0};
  ASSERT_EQ(halftone_language_model_tokenize(c_, "Hello", nullptr, &room), HALFTONE_OK);
  tokens.resize(room.count);
  EXPECT_EQ(tokens, expected);
  const std::vector<float> logits = inside_->model().append(0, expected, true);
  std::vector<float> found(logits.size());
  const halftone_output out = {found.data(), found.size() * sizeof(float)};
  ASSERT_EQ(halftone_language_model_append(c_, 0, tokens.data(), tokens.size(), &out), HALFTONE_OK);
  EXPECT_EQ(found, logits);
}

TEST_F(LanguageApi, DrawsTheSameTokens) {
  for (const double temperature : {0.0, 0.7}) {
    v0::GenerateOptions inside{.max_tokens = 30};
    inside.sampling.temperature = temperature;
    inside.sampling.seed = 9;
    halftone_generate_options options{};
    options.struct_bytes = sizeof options;
    options.max_tokens = 30;
    options.temperature = temperature;
    options.seed = 9;
    halftone_generation result{};
    result.struct_bytes = sizeof result;
    ASSERT_EQ(halftone_language_model_generate(c_, "Once", &options, &result), HALFTONE_OK);
    const lm::Generation expected = generate_text(*inside_, "Once", {inside});
    EXPECT_EQ(std::vector(result.tokens, result.tokens + result.num_tokens), expected.tokens);
    EXPECT_EQ(result.text, expected.text);
    EXPECT_EQ(halftone_end_name(result.end), v0::to_string(expected.end));
  }
}

TEST_F(LanguageApi, HasThePerplexity) {
  const std::string text(100, 'q');
  halftone_evaluate_options options{};
  options.struct_bytes = sizeof options;
  options.window = 30;
  options.stride = 15;
  halftone_text_evaluation found{};
  found.struct_bytes = sizeof found;
  ASSERT_EQ(halftone_language_model_evaluate(c_, text.c_str(), &options, &found), HALFTONE_OK);
  const lm::TextEvaluation expected =
      evaluate_text(*inside_, nullptr, text, {{.context = 30, .stride = 15}});
  EXPECT_EQ(found.loss, expected.loss.value);
  EXPECT_EQ(found.perplexity_error, expected.perplexity.standard_error);
  EXPECT_EQ(found.num_tokens, expected.num_tokens);
}

}  // namespace
}  // namespace halftone

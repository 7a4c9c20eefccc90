// SPDX-License-Identifier: Apache-2.0
// Vectors of texts, and biases of tokens, through the C API.
#include <halftone/language_vectors.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "halftone/library/testing.h"
#include "tests/tiny_language_model.h"

namespace {

class CVectors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(halftone_context_create(nullptr, &context_));
    auto options = sized<halftone_language_options>();
    const std::string tokenizer = tiny_.tokenizer();
    options.tokenizer = tokenizer.c_str();
    (void)halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model_);
    if (model_ == nullptr) GTEST_SKIP() << halftone_error_message();
  }
  void TearDown() override {
    halftone_language_model_destroy(model_);
    halftone_context_destroy(context_);
  }

  halftone::TinyLanguageModel tiny_{testing::TempDir() + "halftone_c_vectors_" +
                                    testing::UnitTest::GetInstance()->current_test_info()->name() +
                                    ".bin"};
  halftone_context* context_ = nullptr;
  halftone_language_model* model_ = nullptr;
};

TEST_F(CVectors, TurnsTextsIntoVectors) {
  std::size_t width = 0;
  ASSERT_OK(halftone_language_model_embedding_width(model_, &width));
  const std::array<const char*, 2> texts = {"Once", "there"};
  std::vector<float> both(2 * width);
  const halftone_output out{both.data(), both.size() * sizeof(float)};
  ASSERT_OK(halftone_language_model_embed(model_, texts.data(), 2, &out));
  std::vector<float> second(width);
  const halftone_output one{second.data(), width * sizeof(float)};
  ASSERT_OK(halftone_language_model_embed(model_, &texts[1], 1, &one));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + std::ptrdiff_t(width)));
  // Each number is rounded once.
  EXPECT_NEAR(std::inner_product(second.begin(), second.end(), second.begin(), 0.0), 1,
              3 * 0x1p-24);
  const halftone_output odd{second.data(), 3};
  EXPECT_FAILS(halftone_language_model_embed(model_, texts.data(), 2, &odd), HALFTONE_SHAPE,
               "vectors: expected 8 bytes times 1 to");
  EXPECT_FAILS(halftone_language_model_embed(model_, nullptr, 2, &out), HALFTONE_USAGE, "texts");
  EXPECT_FAILS(halftone_language_model_embed(model_, texts.data(), 2, nullptr), HALFTONE_USAGE,
               "vectors");
  EXPECT_FAILS(halftone_language_model_embedding_width(model_, nullptr), HALFTONE_USAGE, "width");
}

TEST_F(CVectors, TakesBiasesAndPenalties) {
  auto options = sized<halftone_generate_options>();
  options.max_tokens = 3;
  auto found = sized<halftone_generation>();
  ASSERT_OK(halftone_language_model_generate(model_, "Once", &options, &found));
  const std::int32_t first = found.tokens[0];
  const std::array<halftone_logit_bias, 1> bias = {{{first, -100}}};
  options.logit_biases = bias.data();
  options.num_logit_biases = bias.size();
  ASSERT_OK(halftone_language_model_generate(model_, "Once", &options, &found));
  EXPECT_EQ(std::count(found.tokens, found.tokens + found.num_tokens, first), 0);
  options.logit_biases = nullptr;
  EXPECT_FAILS(halftone_language_model_generate(model_, "Once", &options, &found), HALFTONE_USAGE,
               "options.logit_biases");
  options.num_logit_biases = 0;
  options.presence_penalty = 3;
  EXPECT_FAILS(halftone_language_model_generate(model_, "Once", &options, &found), HALFTONE_USAGE,
               "presence penalty: expected a number from -2 to 2");
}

}  // namespace

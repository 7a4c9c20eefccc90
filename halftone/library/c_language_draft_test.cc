// SPDX-License-Identifier: Apache-2.0
// A language model with a draft in C.
#include <halftone/language.h>

#include <string>
#include <vector>

#include "halftone/library/testing.h"
#include "tests/tiny_language_model.h"

namespace {

using halftone::TinyLanguageModel;
using testing::HasSubstr;

class CDraft : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(halftone_context_create(nullptr, &context_));
    if (halftone_language_model* model = load(nullptr); model != nullptr) {
      halftone_language_model_destroy(model);
      return;
    }
    ASSERT_THAT(halftone_error_message(), HasSubstr("this build has none"));
    GTEST_SKIP() << halftone_error_message();
  }
  void TearDown() override { halftone_context_destroy(context_); }

  /// Null after an error.
  [[nodiscard]] halftone_language_model* load(const char* draft) const {
    auto options = sized<halftone_language_options>();
    const std::string tokenizer = tiny_.tokenizer();
    options.tokenizer = tokenizer.c_str();
    options.draft = draft;
    halftone_language_model* model = nullptr;
    status_ = halftone_language_model_load(context_, tiny_.path().c_str(), &options, &model);
    return model;
  }
  /// Tokens of a text, written by a model with or without a draft.
  std::vector<std::int32_t> written(const char* draft, std::uint64_t seed, std::size_t& guessed) {
    halftone_language_model* model = load(draft);
    auto options = sized<halftone_generate_options>();
    options.max_tokens = 40;
    options.temperature = 1;
    options.seed = seed;
    options.lookup = -1;
    auto result = sized<halftone_generation>();
    EXPECT_OK(halftone_language_model_generate(model, "Once", &options, &result));
    guessed = result.guessed_tokens;
    std::vector<std::int32_t> tokens(result.tokens, result.tokens + result.num_tokens);
    halftone_language_model_destroy(model);
    return tokens;
  }

  TinyLanguageModel tiny_{testing::TempDir() + "halftone_c_draft_" +
                          testing::UnitTest::GetInstance()->current_test_info()->name() + ".bin"};
  halftone_context* context_ = nullptr;
  mutable halftone_status status_ = HALFTONE_OK;
};

TEST_F(CDraft, ChangesNoText) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::size_t none = 0;
    std::size_t guessed = 0;
    EXPECT_EQ(written(tiny_.path().c_str(), seed, guessed), written(nullptr, seed, none));
    EXPECT_GT(guessed, 0U);
    EXPECT_EQ(none, 0U);
  }
}

TEST_F(CDraft, IsRefusedWhereItIsNone) {
  EXPECT_EQ(load("none.bin"), nullptr);
  EXPECT_EQ(status_, HALFTONE_IO);
  EXPECT_THAT(halftone_error_message(), HasSubstr("none.bin"));
}

}  // namespace

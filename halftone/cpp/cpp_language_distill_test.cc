// SPDX-License-Identifier: Apache-2.0
// The C++ API: tuning quantized language models.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "halftone/cpp/testing.h"
#include "tests/tiny_language_model.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using testing::HasSubstr;

class CppLanguageDistill : public outside::WithFolder {
 protected:
  void SetUp() override {
    LanguageQuantizeOptions options;
    options.types = {"4x8", "keep", {{"*attn_v*", "Q4_0"}}};
    options.tokenizer = tiny_.tokenizer();
    options.samples = 8;
    options.held_out = 0;
    options.sample_tokens = 32;
    try {
      (void)quantize_language_model(tiny_.path(), texts_, student_, options);
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("this build has none"));
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] static LanguageDistillOptions few_steps() {
    LanguageDistillOptions options;
    options.steps = 6;
    options.batch = 2;
    options.sample_tokens = 32;
    options.held_out = 2;
    return options;
  }
  [[nodiscard]] LanguageDistillReport distill(const std::string& output,
                                              const LanguageDistillOptions& options) const {
    return distill_language_model(tiny_.path(), student_, texts_, path(output), options);
  }
  [[nodiscard]] std::string contents(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TinyLanguageModel tiny_{path("tiny.bin"), TinyLanguageModel::kWideSizes};
  std::vector<std::filesystem::path> texts_{write_tiny_text(path("fit.txt"))};
  std::string student_ = path("student.safetensors");
};

TEST_F(CppLanguageDistill, MakesAModelBetter) {
  LanguageDistillOptions options = few_steps();
  options.second_text = path("fit.txt");
  const LanguageDistillReport report = distill("tuned.safetensors", options);
  EXPECT_EQ(report.output_bytes, std::filesystem::file_size(path("tuned.safetensors")));
  EXPECT_EQ(report.input_bytes, std::filesystem::file_size(student_));
  EXPECT_LT(report.held_out.after, report.held_out.before);
  EXPECT_EQ(report.held_out.tokens, 2 * 32U);
  ASSERT_TRUE(report.second_text.has_value());
  EXPECT_GT(report.second_text->before, 0);
  EXPECT_EQ(report.steps.size(), 6U);
  EXPECT_GT(report.steps[0].rate, 0);
  EXPECT_EQ(report.evaluations.front().divergence, report.held_out.before);
  EXPECT_GT(report.best_steps, 0U);
  EXPECT_THAT(report.bases, testing::Contains("4x8"));
  EXPECT_EQ(report.num_gains, (2 * 2 + 1) * 64U);
  EXPECT_GT(report.num_scales, 0U);
  EXPECT_GT(report.fit_tokens, 32U);
  LanguageModel tuned = LanguageModel::open(path("tuned.safetensors"));
  EXPECT_EQ(tuned.generate("1042 foxes", {.max_tokens = 5}).prompt_tokens, 12U);
}

TEST_F(CppLanguageDistill, StopsAndContinues) {
  LanguageDistillOptions options = few_steps();
  (void)distill("whole.safetensors", options);
  options.state = path("state");
  options.progress = [](double fraction, std::string_view activity) {
    EXPECT_FALSE(activity.empty());
    return fraction < 0.4;
  };
  expect_error(ErrorKind::kInterrupted, "ended the work",
               [&] { (void)distill("parts.safetensors", options); });
  EXPECT_FALSE(std::filesystem::exists(path("parts.safetensors")));
  options.progress = {};
  options.resources.threads = 1;
  (void)distill("parts.safetensors", options);
  EXPECT_EQ(contents("parts.safetensors"), contents("whole.safetensors"));
  options.steps = 7;
  expect_error(ErrorKind::kUsage, "belongs to another run",
               [&] { (void)distill("parts.safetensors", options); });
}

TEST_F(CppLanguageDistill, PassesExceptionsOn) {
  LanguageDistillOptions options = few_steps();
  options.progress = [](double, std::string_view) -> bool { throw std::out_of_range("enough"); };
  EXPECT_THROW((void)distill("x.safetensors", options), std::out_of_range);
  EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
}

TEST_F(CppLanguageDistill, RefusesWhatCannotBe) {
  const auto refused = [&](const std::string& text, const LanguageDistillOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { (void)distill("x.safetensors", options); });
    EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
  };
  LanguageDistillOptions options = few_steps();
  options.steps = 0;
  refused("steps of tuning: expected 1 or more, found 0", options);
  options = few_steps();
  options.learning_rate = -1;
  refused("learning rates", options);
  options = few_steps();
  options.sample_tokens = 1;
  refused("tokens of a calibration sample: expected 2 or more", options);
  options = few_steps();
  options.resources.threads = -1;
  refused("threads", options);
  expect_error(ErrorKind::kUsage, "expected NAME.safetensors, as the student",
               [&] { (void)distill("x.gguf", few_steps()); });
  student_ = path("fit.txt");
  expect_error(ErrorKind::kUsage, "expected a student that `quantize --text` wrote",
               [&] { (void)distill("x.txt", few_steps()); });
  student_ = path("nested.safetensors");
  LanguageQuantizeOptions nested;
  nested.nested = "3,4";
  nested.tokenizer = tiny_.tokenizer();
  nested.samples = 8;
  nested.held_out = 0;
  nested.sample_tokens = 32;
  (void)quantize_language_model(tiny_.path(), texts_, student_, nested);
  expect_error(ErrorKind::kUnsupported, "codes of two precisions share their scales: not tuned",
               [&] { (void)distill("x.safetensors", few_steps()); });
  student_ = path("none.safetensors");
  expect_error(ErrorKind::kIo, "none.safetensors",
               [&] { (void)distill("x.safetensors", few_steps()); });
  texts_.clear();
  refused("expected a text to learn from, found none", few_steps());
}

}  // namespace

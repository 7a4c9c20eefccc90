// SPDX-License-Identifier: Apache-2.0
// Quantizing language models in C, through the installed header alone.
#include <halftone/language_page.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "halftone/library/testing.h"
#include "tests/tiny_language_model.h"
#include "tests/tiny_model_folder.h"

namespace {

using halftone::TinyLanguageModel;
using testing::HasSubstr;

class CLanguageQuantize : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    ASSERT_OK(halftone_context_create(nullptr, &context_));
    TinyLanguageModel tiny(path("tiny.bin"), TinyLanguageModel::kWideSizes);
    model_ = tiny.path();
    tokenizer_ = tiny.tokenizer();
    text_ = halftone::write_tiny_text(path("fit.txt"));
    texts_ = {text_.c_str()};
    if (open(model_, tokenizer_.c_str()) == nullptr) {
      ASSERT_THAT(halftone_error_message(), HasSubstr("this build has none"));
      GTEST_SKIP() << halftone_error_message();
    }
  }
  void TearDown() override {
    for (halftone_language_model* model : models_) halftone_language_model_destroy(model);
    halftone_context_destroy(context_);
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  halftone_language_model* open(const std::string& name, const char* tokenizer) {
    auto options = sized<halftone_language_options>();
    options.tokenizer = tokenizer;
    halftone_language_model* model = nullptr;
    (void)halftone_language_model_load(context_, name.c_str(), &options, &model);
    models_.push_back(model);
    return model;
  }
  /// Options of a type with few samples.
  [[nodiscard]] halftone_language_quantize_options few_samples(const char* type) const {
    auto options = sized<halftone_language_quantize_options>();
    options.texts = texts_.data();
    options.num_texts = texts_.size();
    options.tokenizer = tokenizer_.c_str();
    options.type = type;
    options.samples = 8;
    options.held_out = 2;
    options.sample_tokens = 32;
    return options;
  }
  halftone_status quantize(const std::string& output,
                           const halftone_language_quantize_options& options,
                           halftone_language_report** report = nullptr) {
    return halftone_language_quantize(context_, model_.c_str(), path(output).c_str(), &options,
                                      report);
  }
  void expect_refused(const halftone_language_quantize_options& options, const char* text) {
    EXPECT_FAILS(quantize("x.safetensors", options), HALFTONE_USAGE, text);
    EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
  }

  std::string folder_ = testing::TempDir() + "halftone_c_quantize_" +
                        testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string model_;
  std::string tokenizer_;
  std::string text_;
  std::vector<const char*> texts_;
  halftone_context* context_ = nullptr;
  std::vector<halftone_language_model*> models_;
};

TEST_F(CLanguageQuantize, WritesItsOwnSamplesAndContinues) {
  halftone_language_quantize_options options = few_samples("2x6");
  options.synthetic = 1;
  expect_refused(options, "either texts or synthetic samples");
  options.num_texts = 0;
  ASSERT_OK(quantize("whole.safetensors", options));
  const std::string state = path("state");
  options.state = state.c_str();
  ASSERT_OK(quantize("first.safetensors", options));
  EXPECT_TRUE(std::filesystem::exists(state));
  ASSERT_OK(quantize("again.safetensors", options));
  EXPECT_EQ(std::filesystem::file_size(path("again.safetensors")),
            std::filesystem::file_size(path("whole.safetensors")));
}

TEST_F(CLanguageQuantize, WritesFilesThatRun) {
  for (const char* type : {"4x8", "Q4_0"}) {
    halftone_language_report* report = nullptr;
    ASSERT_OK(quantize("small.safetensors", few_samples(type), &report));
    auto summary = sized<halftone_language_summary>();
    EXPECT_OK(halftone_language_report_summary(report, &summary));
    EXPECT_EQ(summary.input_bytes, std::filesystem::file_size(model_));
    EXPECT_EQ(summary.output_bytes, std::filesystem::file_size(path("small.safetensors")));
    EXPECT_LT(summary.output_bytes, summary.input_bytes / 3);
    EXPECT_GT(summary.bits, 2);
    EXPECT_LT(summary.bits, 5);
    EXPECT_GT(summary.seconds, 0);
    EXPECT_EQ(summary.predicted_loss, -1);
    EXPECT_EQ(summary.fit_tokens, 8 * 32U);
    EXPECT_EQ(summary.held_out_tokens, 2 * 32U);
    EXPECT_GT(summary.fit_loss, 0);
    EXPECT_GT(summary.held_out_loss, 0);
    EXPECT_EQ(summary.num_warnings, 2U);
    EXPECT_THAT(halftone_language_report_warning(report, 0),
                HasSubstr("the model does not know such a text"));  // its weights are random
    EXPECT_THAT(halftone_language_report_warning(report, 1),
                HasSubstr("8 samples to fit from 1 document"));
    EXPECT_EQ(halftone_language_report_warning(report, 2), nullptr);
    bool is_found = false;
    auto matrix = sized<halftone_quantized_matrix>();
    for (std::size_t i = 0; i < summary.num_matrices; ++i) {
      EXPECT_OK(halftone_language_report_matrix(report, i, &matrix));
      if (std::string(matrix.name) != "blk.1.ffn_down.weight") continue;
      is_found = true;
      EXPECT_STREQ(matrix.type, type);
      EXPECT_EQ(8.0 * static_cast<double>(matrix.bytes), matrix.bits * 64 * 128);
      EXPECT_GT(matrix.error, 0);
      EXPECT_LT(matrix.error, 0.2);
    }
    EXPECT_TRUE(is_found);
    EXPECT_FAILS(halftone_language_report_matrix(report, summary.num_matrices, &matrix),
                 HALFTONE_USAGE, "matrix: expected an index below ");
    halftone_language_report_destroy(report);
    halftone_language_model* small = open(path("small.safetensors"), nullptr);
    ASSERT_NE(small, nullptr) << halftone_error_message();
    auto found = sized<halftone_generation>();
    EXPECT_OK(halftone_language_model_generate(small, "1042 foxes", nullptr, &found));
    EXPECT_EQ(found.prompt_tokens, 12U);
  }
}

TEST_F(CLanguageQuantize, WritesTwoPrecisions) {
  const std::string file = path("nested.safetensors");
  ASSERT_OK(quantize("nested.safetensors", few_samples("nested3+4")));
  const auto load = [&](std::size_t bits, halftone_language_model** model) {
    auto options = sized<halftone_language_options>();
    options.bits = bits;
    return halftone_language_model_load(context_, file.c_str(), &options, model);
  };
  const auto logits = [&](std::size_t bits) {
    halftone_language_model* model = nullptr;
    EXPECT_OK(load(bits, &model));
    models_.push_back(model);
    std::vector<float> found(halftone_language_model_vocabulary(model));
    const std::int32_t token = 70;
    const halftone_output output{found.data(), found.size() * sizeof(float)};
    EXPECT_OK(halftone_language_model_append(model, 0, &token, 1, &output));
    return found;
  };
  EXPECT_EQ(logits(4), logits(0));
  EXPECT_NE(logits(3), logits(0));
  halftone_language_model* model = nullptr;
  EXPECT_FAILS(load(5, &model), HALFTONE_USAGE, "bits: expected 3 or 4, found 5");
}

TEST_F(CLanguageQuantize, ChoosesTypesForASize) {
  halftone_language_quantize_options options = few_samples(nullptr);
  options.size_bytes = 70000;
  const std::string recipe = path("types.toml");
  options.recipe_output = recipe.c_str();
  halftone_language_report* report = nullptr;
  ASSERT_OK(quantize("sized.safetensors", options, &report));
  auto summary = sized<halftone_language_summary>();
  EXPECT_OK(halftone_language_report_summary(report, &summary));
  EXPECT_LE(summary.output_bytes, 70000U);
  EXPECT_GT(summary.predicted_loss, 0);
  halftone_language_report_destroy(report);
  options = few_samples(nullptr);
  options.recipe = recipe.c_str();
  ASSERT_OK(quantize("again.safetensors", options));
  EXPECT_EQ(std::filesystem::file_size(path("again.safetensors")), summary.output_bytes);
  const halftone_type_rule rules[] = {{"*attn_v*", "Q8_0"}, {"*ffn_down*", "keep"}};
  options.rules = rules;
  options.num_rules = 2;
  ASSERT_OK(quantize("more.safetensors", options));
  EXPECT_GT(std::filesystem::file_size(path("more.safetensors")), summary.output_bytes + 64 * 128);
  options = few_samples(nullptr);
  options.bits_per_weight = 4.5;
  ASSERT_OK(quantize("sized.safetensors", options));
}

TEST_F(CLanguageQuantize, SaysWhatMatricesLoseAndKeepsALoss) {
  const halftone_language_quantize_options few = few_samples(nullptr);
  auto options = sized<halftone_language_sensitivity_options>();
  options.texts = few.texts;
  options.num_texts = few.num_texts;
  options.tokenizer = few.tokenizer;
  options.samples = few.samples;
  options.held_out = few.held_out;
  options.sample_tokens = few.sample_tokens;
  const char* choices[] = {"Q8_0", "Q4_0"};
  options.choices = choices;
  options.num_choices = 2;
  halftone_language_losses* losses = nullptr;
  ASSERT_OK(halftone_language_sensitivity(context_, model_.c_str(), &options, &losses));
  auto summary = sized<halftone_losses_summary>();
  ASSERT_OK(halftone_language_losses_summary(losses, &summary));
  EXPECT_EQ(summary.num_types, 2U);
  EXPECT_EQ(summary.samples, 2U);
  EXPECT_EQ(summary.tokens, 32U);
  EXPECT_EQ(summary.on_fit_samples, 0);
  EXPECT_GT(summary.model_loss, 0);
  EXPECT_STREQ(halftone_language_losses_type(losses, 0), "Q4_0");  // by rising bits
  EXPECT_STREQ(halftone_language_losses_type(losses, 1), "Q8_0");
  EXPECT_EQ(halftone_language_losses_type(losses, 2), nullptr);
  EXPECT_EQ(halftone_language_losses_warning(losses, summary.num_warnings), nullptr);
  double total = 0;
  for (std::size_t i = 0; i < summary.num_matrices; ++i) {
    auto matrix = sized<halftone_sensitive_matrix>();
    ASSERT_OK(halftone_language_losses_matrix(losses, i, &matrix));
    EXPECT_EQ(matrix.bytes, 4 * matrix.rows * matrix.cols) << matrix.name;  // of float32
    auto four = sized<halftone_matrix_loss>();
    auto eight = sized<halftone_matrix_loss>();
    ASSERT_OK(halftone_language_losses_loss(losses, i, 0, &four));
    ASSERT_OK(halftone_language_losses_loss(losses, i, 1, &eight));
    if (four.loss < 0) continue;
    EXPECT_EQ(four.bits, 4.5);  // blocks of 32 share a float16
    EXPECT_LT(eight.loss, four.loss);
    total += four.loss;
  }
  auto matrix = sized<halftone_sensitive_matrix>();
  auto loss = sized<halftone_matrix_loss>();
  EXPECT_FAILS(halftone_language_losses_matrix(losses, summary.num_matrices, &matrix),
               HALFTONE_USAGE, "matrix: expected an index below ");
  EXPECT_FAILS(halftone_language_losses_loss(losses, 0, 2, &loss), HALFTONE_USAGE,
               "type: expected an index below 2, found 2");
  EXPECT_FAILS(halftone_language_losses_loss(losses, summary.num_matrices, 0, &loss),
               HALFTONE_USAGE, "matrix: expected an index below ");
  halftone_language_losses_destroy(losses);

  halftone_language_quantize_options limited = few;
  limited.max_loss = total;
  halftone_language_report* report = nullptr;
  ASSERT_OK(quantize("limited.safetensors", limited, &report));
  auto found = sized<halftone_language_summary>();
  ASSERT_OK(halftone_language_report_summary(report, &found));
  EXPECT_GT(found.predicted_loss, 0);
  EXPECT_LE(found.predicted_loss, total);
  halftone_language_report_destroy(report);
  limited.max_loss = -1;
  expect_refused(limited, "loss: expected a finite number above 0, found -1");
}

TEST_F(CLanguageQuantize, RefusesWhatCannotBeMeasured) {
  auto options = sized<halftone_language_sensitivity_options>();
  halftone_language_losses* losses = nullptr;
  const auto measure = [&] {
    return halftone_language_sensitivity(context_, model_.c_str(), &options, &losses);
  };
  EXPECT_FAILS(measure(), HALFTONE_USAGE, "which the model writes itself, found neither");
  options.num_texts = 1;
  EXPECT_FAILS(measure(), HALFTONE_USAGE, "options.texts: expected a pointer, found NULL");
  options.texts = texts_.data();
  options.num_choices = 1;
  EXPECT_FAILS(measure(), HALFTONE_USAGE, "options.choices: expected a pointer, found NULL");
  options.num_choices = 0;
  options.tokenizer = tokenizer_.c_str();
  options.samples = 8;
  options.held_out = -1;
  options.sample_tokens = 32;
  options.progress = [](void*, double) { return 1; };
  EXPECT_FAILS(measure(), HALFTONE_INTERRUPTED, "the measurement was stopped");
  EXPECT_EQ(losses, nullptr) << "as it was";
  options.struct_bytes = sizeof options + 8;
  EXPECT_FAILS(measure(), HALFTONE_USAGE, "options.struct_bytes: expected ");
  EXPECT_FAILS(halftone_language_sensitivity(nullptr, "x", nullptr, &losses), HALFTONE_USAGE,
               "context: expected a pointer");
  EXPECT_FAILS(halftone_language_sensitivity(context_, nullptr, nullptr, &losses), HALFTONE_USAGE,
               "model: expected a pointer");
  EXPECT_FAILS(halftone_language_sensitivity(context_, "x", nullptr, nullptr), HALFTONE_USAGE,
               "losses: expected a pointer");
  EXPECT_FAILS(halftone_language_losses_summary(nullptr, nullptr), HALFTONE_USAGE,
               "losses: expected a pointer");
  EXPECT_EQ(halftone_language_losses_type(nullptr, 0), nullptr);
  EXPECT_EQ(halftone_language_losses_warning(nullptr, 0), nullptr);
  halftone_language_losses_destroy(nullptr);
}

TEST_F(CLanguageQuantize, MakesAPage) {
  const halftone_language_quantize_options few = few_samples("Q4_0");
  ASSERT_OK(quantize("small.safetensors", few));
  auto measured = sized<halftone_language_sensitivity_options>();
  measured.texts = few.texts;
  measured.num_texts = few.num_texts;
  measured.tokenizer = few.tokenizer;
  measured.samples = 2;
  measured.held_out = 2;
  measured.sample_tokens = 32;
  const char* choices[] = {"Q4_0"};
  measured.choices = choices;
  measured.num_choices = 1;
  halftone_language_losses* losses = nullptr;
  ASSERT_OK(halftone_language_sensitivity(context_, model_.c_str(), &measured, &losses));
  auto options = sized<halftone_language_page_options>();
  options.texts = few.texts;
  options.num_texts = 1;
  options.window = 32;
  options.max_windows = 2;
  options.times = 1;
  options.losses = losses;
  halftone_language_page* page = nullptr;
  ASSERT_OK(
      halftone_language_page_create(context_, path("small.safetensors").c_str(), &options, &page));
  halftone_language_losses_destroy(losses);
  const std::string html = halftone_language_page_html(page);
  EXPECT_THAT(html, HasSubstr("<h1>small.safetensors</h1>"));
  EXPECT_THAT(html, HasSubstr("<caption>Matrices</caption>"));
  EXPECT_THAT(html, HasSubstr("id=sensitivities"));
  const std::string json = halftone_language_page_json(page);
  EXPECT_THAT(json, HasSubstr(R"("name": "small.safetensors")"));
  EXPECT_THAT(json, HasSubstr(R"("tokens_per_second")"));
  EXPECT_THAT(json, HasSubstr(R"("text": "fit.txt")"));
  EXPECT_THAT(json, HasSubstr(R"("file": "losses")"));
  halftone_language_page_destroy(page);
}

TEST_F(CLanguageQuantize, MakesNoPageOfWhatIsNotThere) {
  auto options = sized<halftone_language_page_options>();
  halftone_language_page* page = nullptr;
  const auto make = [&](const std::string& model) {
    return halftone_language_page_create(context_, model.c_str(), &options, &page);
  };
  EXPECT_FAILS(make(path("nothing.gguf")), HALFTONE_IO, "nothing.gguf");
  options.tokenizer = tokenizer_.c_str();
  options.reference = model_.c_str();
  EXPECT_FAILS(make(model_), HALFTONE_USAGE, "text");
  options.reference = nullptr;
  options.num_texts = 1;
  EXPECT_FAILS(make(model_), HALFTONE_USAGE, "options.texts: expected a pointer, found NULL");
  options.texts = texts_.data();
  options.window = 32;
  options.progress = [](void*, double) { return 1; };
  EXPECT_FAILS(make(model_), HALFTONE_INTERRUPTED, "the report was stopped");
  EXPECT_EQ(page, nullptr) << "as it was";
  EXPECT_FAILS(halftone_language_page_create(nullptr, "x", nullptr, &page), HALFTONE_USAGE,
               "context: expected a pointer");
  EXPECT_FAILS(halftone_language_page_create(context_, nullptr, nullptr, &page), HALFTONE_USAGE,
               "model: expected a pointer");
  EXPECT_FAILS(halftone_language_page_create(context_, "x", nullptr, nullptr), HALFTONE_USAGE,
               "page: expected a pointer");
  EXPECT_EQ(halftone_language_page_html(nullptr), nullptr);
  EXPECT_EQ(halftone_language_page_json(nullptr), nullptr);
  halftone_language_page_destroy(nullptr);
}

int count(void* user, double fraction) {
  auto& shares = *static_cast<std::vector<double>*>(user);
  shares.push_back(fraction);
  return shares.size() < 2 ? 0 : 1;
}

TEST_F(CLanguageQuantize, TellsItsProgressAndStops) {
  std::vector<double> shares;
  halftone_language_quantize_options options = few_samples("2x6");
  options.progress = count;
  options.user = &shares;
  halftone_language_report* report = nullptr;
  EXPECT_FAILS(quantize("x.safetensors", options, &report), HALFTONE_INTERRUPTED,
               "the quantization was stopped");
  EXPECT_EQ(shares.size(), 2U);
  EXPECT_EQ(report, nullptr) << "as it was";
  EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
}

TEST_F(CLanguageQuantize, TakesZeroForDefaultsAndNegativeNumbersForNone) {
  halftone_language_quantize_options options = few_samples("2x6");
  ASSERT_OK(quantize("default.safetensors", options));
  const auto size = std::filesystem::file_size(path("default.safetensors"));
  options.held_out = -1;
  options.sweeps = -1;
  options.damping = -1;
  options.no_rotation = 1;
  options.candidates = 1;
  halftone_language_report* report = nullptr;
  ASSERT_OK(quantize("plain.safetensors", options, &report));
  auto summary = sized<halftone_language_summary>();
  EXPECT_OK(halftone_language_report_summary(report, &summary));
  EXPECT_EQ(summary.held_out_tokens, 0U);
  halftone_language_report_destroy(report);
  EXPECT_LT(std::filesystem::file_size(path("plain.safetensors")), size)
      << "without the matrix of rotations before the head";
}

TEST_F(CLanguageQuantize, PredictsTheLossOfGivenTypes) {
  halftone_language_quantize_options options = few_samples("4x8");
  options.predict_loss = 1;
  halftone_language_report* report = nullptr;
  ASSERT_OK(quantize("predicted.safetensors", options, &report));
  auto summary = sized<halftone_language_summary>();
  EXPECT_OK(halftone_language_report_summary(report, &summary));
  EXPECT_GT(summary.predicted_loss, 0);
  halftone_language_report_destroy(report);
}

TEST_F(CLanguageQuantize, ConvertsFoldersAndMergesAdapters) {
  const std::string folder = halftone::write_tiny_folder(path("model"));
  const std::string lora = halftone::write_tiny_adapter(path("adapter"));
  const auto convert = [&](const std::string& output, const char* adapter,
                           halftone_language_report** report = nullptr) {
    return halftone_language_convert(context_, folder.c_str(), path(output).c_str(), adapter,
                                     report);
  };
  halftone_language_report* report = nullptr;
  ASSERT_OK(convert("model.gguf", nullptr, &report));
  auto summary = sized<halftone_language_summary>();
  ASSERT_OK(halftone_language_report_summary(report, &summary));
  halftone_language_report_destroy(report);
  EXPECT_EQ(summary.output_bytes, std::filesystem::file_size(path("model.gguf")));
  EXPECT_EQ(summary.num_matrices, 0U);
  ASSERT_OK(convert("merged.gguf", lora.c_str()));
  EXPECT_FAILS(convert("x.gguf", path("none").c_str()), HALFTONE_IO, "none");
  EXPECT_FAILS(convert("x", nullptr), HALFTONE_USAGE, "expected NAME.gguf");
  EXPECT_FAILS(halftone_language_convert(context_, nullptr, "x", nullptr, nullptr), HALFTONE_USAGE,
               "model: expected a pointer");
}

TEST_F(CLanguageQuantize, RefusesWhatCannotBe) {
  expect_refused(few_samples(nullptr),
                 "expected either types, a size, bits per weight or a loss, found none");
  expect_refused(few_samples("Q9"), "expected one of ");
  halftone_language_quantize_options options = few_samples("2x6");
  options.bits_per_weight = 3;
  expect_refused(options, "found several of them");
  options = few_samples("2x6");
  options.candidates = 65;
  expect_refused(options, "expected 1 to 64 candidates, found 65");
  options = few_samples("2x6");
  options.num_rules = 1;
  expect_refused(options, "options.rules: expected a pointer, found NULL");
  const halftone_type_rule rule = {"*", nullptr};
  options.rules = &rule;
  expect_refused(options, "options.rules.type: expected a pointer, found NULL");
  options = few_samples("2x6");
  options.texts = nullptr;
  expect_refused(options, "options.texts: expected a pointer, found NULL");
  options.num_texts = 0;
  expect_refused(options, "which the model writes itself, found neither");
  options = few_samples("2x6");
  options.struct_bytes = sizeof options + 8;
  expect_refused(options, "options.struct_bytes: expected ");
  options = few_samples("2x6");
  options.recipe = "none.toml";
  EXPECT_FAILS(quantize("x.safetensors", options), HALFTONE_IO, "none.toml");
  options = few_samples("2x6");
  EXPECT_FAILS(halftone_language_quantize(nullptr, model_.c_str(), "x", &options, nullptr),
               HALFTONE_USAGE, "context: expected a pointer");
  EXPECT_FAILS(halftone_language_quantize(context_, nullptr, "x", &options, nullptr),
               HALFTONE_USAGE, "model: expected a pointer");
  EXPECT_FAILS(halftone_language_quantize(context_, model_.c_str(), nullptr, &options, nullptr),
               HALFTONE_USAGE, "output: expected a pointer");
  EXPECT_FAILS(halftone_language_report_summary(nullptr, nullptr), HALFTONE_USAGE,
               "report: expected a pointer");
  EXPECT_EQ(halftone_language_report_warning(nullptr, 0), nullptr);
  halftone_language_report_destroy(nullptr);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// The C++ API: quantizing language models.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <vector>

#include "halftone/cpp/testing.h"
#include "tests/tiny_language_model.h"
#include "tests/tiny_model_folder.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using testing::ElementsAre;
using testing::HasSubstr;

class CppLanguageQuantize : public outside::WithFolder {
 protected:
  void SetUp() override {
    try {
      (void)LanguageModel::open(tiny_.path(), {.tokenizer = tiny_.tokenizer()});
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("this build has none"));
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] LanguageQuantizeOptions few_samples(const TypeRecipe& types) const {
    LanguageQuantizeOptions options;
    options.types = types;
    options.tokenizer = tiny_.tokenizer();
    options.samples = 8;
    options.held_out = 2;
    options.sample_tokens = 32;
    return options;
  }
  [[nodiscard]] LanguageQuantizeReport quantize(const std::string& output,
                                                const LanguageQuantizeOptions& options) const {
    return quantize_language_model(tiny_.path(), texts_, path(output), options);
  }
  [[nodiscard]] std::string contents(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TinyLanguageModel tiny_{path("tiny.bin"), TinyLanguageModel::kWideSizes};
  std::vector<std::filesystem::path> texts_{write_tiny_text(path("fit.txt"))};
};

TEST_F(CppLanguageQuantize, WritesFilesThatRun) {
  const LanguageModel model = LanguageModel::open(tiny_.path(), {.tokenizer = tiny_.tokenizer()});
  for (const std::string type : {"4x8", "Q4_0"}) {
    const LanguageQuantizeReport report = quantize("small.safetensors", few_samples({type}));
    EXPECT_EQ(report.input_bytes, std::filesystem::file_size(tiny_.path()));
    EXPECT_EQ(report.output_bytes, std::filesystem::file_size(path("small.safetensors")));
    EXPECT_LT(report.output_bytes, report.input_bytes / 3);
    EXPECT_EQ(report.fit_tokens, 8 * 32U);
    EXPECT_EQ(report.held_out_tokens, 2 * 32U);
    EXPECT_GT(report.seconds, 0);
    EXPECT_FALSE(report.predicted_loss.has_value());
    EXPECT_GT(report.fit_loss, 0);
    EXPECT_GT(report.held_out_loss.value_or(0), 0);
    // The weights are random.
    EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("the model does not know such a text"),
                                             HasSubstr("8 samples to fit from 1 document")));
    EXPECT_GE(report.matrices.size(), 15U) << "7 of each block, and the table";
    const auto found =
        std::ranges::find(report.matrices, "blk.0.attn_q.weight", &QuantizedMatrix::name);
    ASSERT_NE(found, report.matrices.end());
    const QuantizedMatrix& matrix = *found;
    EXPECT_EQ(matrix.type, type);
    EXPECT_EQ(8.0 * static_cast<double>(matrix.bytes), matrix.bits * 64 * 64);
    EXPECT_GT(matrix.error, 0);
    EXPECT_LT(matrix.error, 0.2);
    EXPECT_GT(report.bits, 2);
    EXPECT_LT(report.bits, 5);
    LanguageModel small = LanguageModel::open(path("small.safetensors"));
    EXPECT_EQ(small.tokenize("1042 foxes"), model.tokenize("1042 foxes"));
    EXPECT_EQ(small.generate("1042 foxes", {.max_tokens = 5}).prompt_tokens, 12U);
  }
}

TEST_F(CppLanguageQuantize, WritesTwoPrecisions) {
  LanguageQuantizeOptions options = few_samples({});
  options.nested = "3,4";
  const LanguageQuantizeReport report = quantize("nested.safetensors", options);
  const auto found =
      std::ranges::find(report.matrices, "blk.0.attn_q.weight", &QuantizedMatrix::name);
  ASSERT_NE(found, report.matrices.end());
  EXPECT_EQ(found->type, "nested3+4");
  EXPECT_EQ(found->bits, 4.25);
  const auto logits = [&](std::optional<std::size_t> bits) {
    LanguageModelOptions open;
    open.bits = bits;
    LanguageModel model = LanguageModel::open(path("nested.safetensors"), open);
    return model.append(model.tokenize("1042 foxes"));
  };
  const std::vector<float> all = logits(std::nullopt);
  EXPECT_EQ(logits(4), all);
  EXPECT_NE(logits(3), all);
  const std::string one = contents("nested.safetensors");
  options.resources.threads = 2;
  (void)quantize("nested.safetensors", options);
  EXPECT_EQ(contents("nested.safetensors"), one);
  expect_error(ErrorKind::kUsage, "bits: expected 3 or 4, found 2", [&] { (void)logits(2); });
  (void)quantize("nested.safetensors", few_samples({"int3/64"}));
  expect_error(ErrorKind::kUsage, "found one without nested matrices", [&] { (void)logits(3); });
  expect_error(ErrorKind::kUsage, "bits: expected a file of two precisions", [&] {
    (void)LanguageModel::open(tiny_.path(), {.tokenizer = tiny_.tokenizer(), .bits = 3});
  });
}

TEST_F(CppLanguageQuantize, ChoosesTypesForASize) {
  LanguageQuantizeOptions options = few_samples({});
  options.size_bytes = 70000;
  options.recipe_output = path("types.toml");
  const LanguageQuantizeReport report = quantize("sized.safetensors", options);
  EXPECT_LE(report.output_bytes, 70000U);
  ASSERT_TRUE(report.predicted_loss.has_value());
  EXPECT_GT(*report.predicted_loss, 0);
  ASSERT_GE(report.front.size(), 2U);
  EXPECT_LT(report.front.front().bytes, report.front.back().bytes);
  EXPECT_GT(report.front.front().loss, report.front.back().loss);
  const TypeRecipe types = load_type_recipe(path("types.toml"));
  EXPECT_GE(types.rules.size(), 15U);
  (void)quantize("again.safetensors", few_samples(types));
  EXPECT_EQ(contents("again.safetensors"), contents("sized.safetensors"));
  options = few_samples({});
  options.bits_per_weight = 4.5;
  EXPECT_LE(quantize("more.safetensors", options).bits, 4.5);
  options = few_samples({});
  options.max_loss = 2 * *report.predicted_loss;
  const LanguageQuantizeReport limited = quantize("limited.safetensors", options);
  EXPECT_LE(limited.predicted_loss.value_or(1e9), *options.max_loss);
  EXPECT_LT(limited.output_bytes, report.output_bytes);
  options = few_samples({});
  options.bits_per_weight = 8;
  options.choices = {"Q8_0", "2x8"};
  for (const QuantizedMatrix& matrix : quantize("chosen.safetensors", options).matrices) {
    EXPECT_THAT(options.choices, testing::Contains(matrix.type)) << matrix.name;
  }
}

TEST_F(CppLanguageQuantize, WritesItsOwnSamplesAndContinues) {
  LanguageQuantizeOptions options = few_samples({"2x6"});
  options.synthetic = true;
  expect_error(ErrorKind::kUsage, "either texts or synthetic samples",
               [&] { (void)quantize("x.safetensors", options); });
  texts_.clear();
  EXPECT_EQ(quantize("whole.safetensors", options).fit_tokens, 8 * 32U);
  options.state = path("state");
  options.progress = [&](double fraction, std::string_view) { return fraction < 0.6; };
  expect_error(ErrorKind::kInterrupted, "ended the work",
               [&] { (void)quantize("parts.safetensors", options); });
  EXPECT_TRUE(std::filesystem::exists(options.state));
  options.progress = {};
  (void)quantize("parts.safetensors", options);
  EXPECT_EQ(contents("parts.safetensors"), contents("whole.safetensors"));
}

TEST_F(CppLanguageQuantize, MeasuresWhatTypesLose) {
  LanguageSensitivityOptions options;
  options.choices = {"2x8", "4x8", "Q8_0"};
  options.tokenizer = tiny_.tokenizer();
  options.samples = 8;
  options.held_out = 2;
  options.sample_tokens = 32;
  const Sensitivity found = language_sensitivity(tiny_.path(), texts_, options);
  EXPECT_EQ(found.samples, 2U);
  EXPECT_EQ(found.tokens, 32U);
  EXPECT_FALSE(found.on_fit_samples);
  EXPECT_GT(found.model_loss, 0);
  EXPECT_FALSE(found.warnings.empty()) << "the weights are random";
  const auto query = std::ranges::find(found.layers, "blk.0.attn_q.weight", &SensitiveLayer::name);
  ASSERT_NE(query, found.layers.end());
  EXPECT_EQ(query->type, "F32");
  EXPECT_EQ(query->rows, 64U);
  EXPECT_EQ(query->cols, 64U);
  EXPECT_EQ(query->bytes, 64 * 64 * 4U);
  ASSERT_EQ(found.choices.size(), 3U);
  EXPECT_EQ(found.choices[0].name, "4x8") << "by their bits";
  double loss = 1e9;
  ASSERT_EQ(found.units.size(), found.layers.size());
  const auto index = static_cast<std::size_t>(query - found.layers.begin());
  EXPECT_EQ(found.units[index].layers, std::vector<std::size_t>{index});
  for (const ChoiceSensitivity& choice : found.choices) {
    ASSERT_EQ(choice.layers.size(), found.layers.size());
    const UnitSensitivity& cost = choice.units.at(index);
    ASSERT_TRUE(cost.is_possible);
    EXPECT_EQ(8.0 * static_cast<double>(cost.bytes), choice.layers[index].weight_bits * 64 * 64);
    EXPECT_EQ(cost.loss, choice.layers[index].weighted_error);
    EXPECT_FALSE(cost.accumulated_loss.has_value());
    EXPECT_LT(cost.loss, loss);
    loss = cost.loss;
  }
  options.choices.emplace_back("2x8");
  expect_error(ErrorKind::kUsage, "types: '2x8' comes twice",
               [&] { (void)language_sensitivity(tiny_.path(), texts_, options); });
}

TEST_F(CppLanguageQuantize, MakesAPage) {
  (void)quantize("small.safetensors", few_samples({"Q4_0"}));
  LanguageReportOptions options;
  options.texts = texts_;
  options.context = 32;
  options.windows = 2;
  const Report page = language_report(path("small.safetensors"), options);
  EXPECT_THAT(page.html, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page.html, HasSubstr(">blk.0.attn_q.weight</th>"));
  EXPECT_THAT(page.json, HasSubstr("\"perplexity\""));
  EXPECT_TRUE(page.node_data.empty());
  options.sensitivities = {{"a.json", "{}"}};
  expect_error(ErrorKind::kFormat, "a.json: expected what sensitivity --json prints",
               [&] { (void)language_report(path("small.safetensors"), options); });
  expect_error(ErrorKind::kUsage, "expected a text to compare on", [&] {
    (void)language_report(path("small.safetensors"), {.reference = path("small.safetensors")});
  });
}

TEST_F(CppLanguageQuantize, ReadsRecipes) {
  const TypeRecipe types = parse_type_recipe(
      "[default]\ntype = \"2x6\"\ntable_type = \"keep\"\n"
      "[[layer]]\nname = \"*attn_v*\"\ntype = \"Q8_0\"\n");
  EXPECT_EQ(types, (TypeRecipe{"2x6", "keep", {{"*attn_v*", "Q8_0"}}}));
  const LanguageQuantizeReport report = quantize("small.safetensors", few_samples(types));
  for (const QuantizedMatrix& matrix : report.matrices) {
    if (matrix.name.find("blk.") != 0) continue;
    const bool is_value = matrix.name.find("attn_v") != std::string::npos;
    EXPECT_EQ(matrix.type, is_value ? "Q8_0" : "2x6") << matrix.name;
  }
  expect_error(ErrorKind::kUsage, "mine: line 2",
               [] { (void)parse_type_recipe("[default]\ntype = \"Q9\"\n", "mine"); });
  expect_error(ErrorKind::kIo, "none.toml", [] { (void)load_type_recipe("none.toml"); });
}

TEST_F(CppLanguageQuantize, TellsItsProgressAndStops) {
  LanguageQuantizeOptions options = few_samples({"2x6"});
  double last = 0;
  options.progress = [&](double fraction, std::string_view activity) {
    EXPECT_GE(fraction, last);
    EXPECT_FALSE(activity.empty());
    last = fraction;
    return true;
  };
  (void)quantize("whole.safetensors", options);
  EXPECT_GT(last, 0.5);
  EXPECT_LE(last, 1);
  options.progress = [](double, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, "the progress function ended the work",
               [&] { (void)quantize("x.safetensors", options); });
  options.progress = [](double, std::string_view) -> bool { throw std::out_of_range("enough"); };
  EXPECT_THROW((void)quantize("x.safetensors", options), std::out_of_range);
  EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
}

TEST_F(CppLanguageQuantize, PredictsTheLossOfGivenTypes) {
  const auto predicted = [&](const std::string& type) {
    LanguageQuantizeOptions options = few_samples({type});
    options.predict_loss = true;
    const LanguageQuantizeReport report = quantize("predicted.safetensors", options);
    EXPECT_TRUE(report.predicted_loss.has_value());
    return report.predicted_loss.value_or(0);
  };
  const double few = predicted("4x8");
  EXPECT_GT(few, predicted("2x6"));
  EXPECT_GT(predicted("Q8_0"), 0);
  const std::string with = contents("predicted.safetensors");
  (void)quantize("predicted.safetensors", few_samples({"Q8_0"}));
  EXPECT_EQ(contents("predicted.safetensors"), with);
}

TEST_F(CppLanguageQuantize, ConvertsFoldersAndMergesAdapters) {
  const std::string folder = write_tiny_folder(path("model"));
  const std::string lora = write_tiny_adapter(path("adapter"));
  const LanguageConvertReport plain = convert_language_model(folder, path("plain.gguf"));
  EXPECT_EQ(plain.output_bytes, std::filesystem::file_size(path("plain.gguf")));
  EXPECT_EQ(plain.changed, 0U);
  EXPECT_EQ(convert_language_model(folder, path("a.gguf"), lora).changed, 2U);
  // A file has the name of its folder.
  const std::string merged = path("second") + "/model";
  std::filesystem::create_directories(path("second"));
  EXPECT_EQ(convert_language_model(folder, merged, lora).changed, 2U);
  (void)convert_language_model(merged, path("b.gguf"));
  EXPECT_NE(contents("plain.gguf"), contents("a.gguf"));
  EXPECT_EQ(contents("a.gguf"), contents("b.gguf"));
  expect_error(ErrorKind::kUsage, "expected NAME.gguf",
               [&] { (void)convert_language_model(folder, path("x.onnx")); });
  expect_error(ErrorKind::kUsage, "expected an adapter to merge",
               [&] { (void)convert_language_model(path("a.gguf"), path("x.gguf")); });
}

TEST_F(CppLanguageQuantize, RefusesWhatCannotBe) {
  const auto expect_refused = [&](const LanguageQuantizeOptions& options, const std::string& text) {
    expect_error(ErrorKind::kUsage, text, [&] { (void)quantize("x.safetensors", options); });
    EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
  };
  expect_refused(few_samples({}),
                 "expected either types, a size, bits per weight or a loss, found none");
  expect_refused(few_samples({"Q9"}), "expected one of ");
  expect_refused(few_samples({"2x6", "", {{"nothing", "2x8"}}}),
                 "types: pattern 'nothing' matches");
  LanguageQuantizeOptions options = few_samples({});
  options.nested = "2,4";
  expect_refused(options,
                 "nested: expected 3,4, found '2,4': other bits in one code lose too much");
  options = few_samples({"2x6"});
  options.nested = "3,4";
  expect_refused(options, "nested: expected no other type of the matrices in blocks, found 2x6");
  options = few_samples({"2x6"});
  options.size_bytes = 100000;
  expect_refused(options, "found several of them");
  options = few_samples({"2x6"});
  options.choices = {"2x6"};
  expect_refused(options, "choices: expected a size, bits per weight or a loss that chooses");
  options = few_samples({});
  options.bits_per_weight = -1;
  expect_refused(options, "bits per weight: expected a number above 0, 32 at most, found -1");
  options = few_samples({"2x6"});
  options.damping = -1;
  expect_refused(options, "damping: expected a finite number of at least 0, found -1");
  options = few_samples({"2x6"});
  options.sample_tokens = 1;
  expect_refused(options, "tokens of a sample: expected 2 to ");
  options = few_samples({"2x6"});
  options.samples = static_cast<std::size_t>(-1);
  expect_refused(options, "samples: expected 1 to ");
  options = few_samples({"2x6"});
  options.candidates = 0;
  expect_refused(options, "expected 1 to 64 candidates, found 0");
  options = few_samples({"2x6"});
  options.resources.threads = -1;
  expect_refused(options, "threads");
  const auto expect_no_folder = [&](const std::string& output) {
    expect_error(ErrorKind::kIo, "cannot write",
                 [&] { (void)quantize(output, few_samples({"2x6"})); });
  };
  expect_no_folder("none/x.safetensors");
  expect_no_folder("tiny.bin/x.safetensors");
  options = few_samples({"2x6"});
  options.recipe_output = path("none/types.toml");
  expect_error(ErrorKind::kIo, "none/types.toml: cannot write",
               [&] { (void)quantize("x.safetensors", options); });
  texts_ = {path("none.txt")};
  expect_error(ErrorKind::kIo, "none.txt",
               [&] { (void)quantize("x.safetensors", few_samples({"2x6"})); });
  texts_.clear();
  expect_refused(few_samples({"2x6"}), "which the model writes itself, found neither");
}

}  // namespace

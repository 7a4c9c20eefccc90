// SPDX-License-Identifier: Apache-2.0
// The C++ API: sensitivities of layers, and networks within budgets.
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kFolder;
using outside::kModel;
using testing::ElementsAre;
using testing::HasSubstr;

class CppSensitivity : public outside::WithFolder {
 protected:
  const Model model_ = load(kModel);
  const Data samples_ = Data::open(kFolder, {.limit = 50});

  /// Leaves a choice to the small layer alone, whose fit takes a hundredth of the time.
  static Recipe small_layer() {
    Recipe recipe;
    recipe.layers = {{"dense1", {.skip = true}}};
    return recipe;
  }

  static SensitivityOptions options() {
    SensitivityOptions options;
    options.recipe = small_layer();
    options.choices = {"1", "2/8", "float"};
    options.measure_time = false;
    return options;
  }

  static BudgetOptions budget_options() {
    BudgetOptions options;
    options.recipe = small_layer();
    options.choices = {"1/8", "2/8", "3/8"};
    return options;
  }

  /// The bytes of the file with the small layer in so many bits.
  [[nodiscard]] std::size_t bytes_with(int bits) const {
    Recipe recipe = small_layer();
    recipe.defaults.weight_bits = bits;
    recipe.defaults.activation_bits = 8;
    return quantize(model_, samples_, recipe).model.to_bytes("circle").size();
  }
};

TEST_F(CppSensitivity, MeasuresLayersInEachChoice) {
  SensitivityOptions options = CppSensitivity::options();
  double last = 0;
  options.progress = [&](double fraction, std::string_view activity) {
    EXPECT_FALSE(activity.empty());
    last = fraction;
    return true;
  };
  const Sensitivity found = sensitivity(model_, samples_, options);
  EXPECT_GT(last, 0);
  EXPECT_EQ(found.loss, "kl");
  EXPECT_EQ(found.weighted_by, "gradients");
  EXPECT_EQ(found.samples, 50U);
  EXPECT_TRUE(found.on_fit_samples);
  ASSERT_EQ(found.layers.size(), 2U);
  EXPECT_EQ(found.layers[1].name, "dense2");
  EXPECT_EQ(found.layers[1].float_bytes, 10U * 700 * 4);
  ASSERT_EQ(found.units.size(), 2U);
  EXPECT_FALSE(found.units[0].may_change);
  EXPECT_TRUE(found.units[1].may_change);
  EXPECT_THAT(found.units[1].layers, ElementsAre(1));
  ASSERT_EQ(found.choices.size(), 3U);
  const ChoiceSensitivity& two = found.choices[1];
  EXPECT_EQ(two.name, "2/8");
  EXPECT_EQ(two.layers[1].weight_bits, 2);
  EXPECT_EQ(two.layers[1].activation_bits, 8);
  EXPECT_GT(two.layers[1].sqnr_db, 0);
  EXPECT_GT(two.layers[1].weighted_error, 0);
  EXPECT_GT(two.units[1].loss, 0);
  EXPECT_GT(two.units[1].bytes, 10U * 700 * 2 / 8);
  EXPECT_GT(found.choices[0].units[1].accumulated_loss, two.units[1].accumulated_loss);
  EXPECT_FALSE(two.us.has_value());
  EXPECT_EQ(found.choices[2].units[1].loss, 0);
  EXPECT_TRUE(std::isinf(found.choices[2].layers[1].sqnr_db.value()));
}

TEST_F(CppSensitivity, MeasuresTimeUnlessToldNotTo) {
  SensitivityOptions options = CppSensitivity::options();
  options.choices = {"2/8"};
  options.measure_time = true;
  const ChoiceSensitivity found = sensitivity(model_, samples_, options).choices.at(0);
  EXPECT_GT(found.layers.at(1).us.value_or(0), 0);
  EXPECT_GT(found.us.value_or(0), found.layers.at(1).us.value_or(0));
}

TEST_F(CppSensitivity, ContinuesFromItsStateForAnyNumberOfThreads) {
  SensitivityOptions options = CppSensitivity::options();
  const auto loss = [&] {
    return sensitivity(model_, samples_, options).choices.at(0).units[1].loss;
  };
  const double expected = loss();
  options.resources.threads = 3;
  options.state = path("s.json");
  EXPECT_EQ(loss(), expected);
  EXPECT_TRUE(std::filesystem::exists(path("s.json")));
  options.progress = [](double, std::string_view) -> bool { throw std::logic_error("measured"); };
  EXPECT_EQ(loss(), expected) << "nothing is measured again";
  options.seed = 1;
  expect_error(ErrorKind::kFormat, "s.json: has sensitivities of another job: expected ",
               [&] { loss(); });
}

TEST_F(CppSensitivity, MeasuresOnOtherSamplesIfToldSo) {
  SensitivityOptions options = CppSensitivity::options();
  options.choices = {"2/8"};
  options.loss = "labels";
  options.test_data = Data::open(kFolder, {.split = "test", .limit = 40});
  const Sensitivity found = sensitivity(model_, samples_, options);
  EXPECT_EQ(found.samples, 40U);
  EXPECT_FALSE(found.on_fit_samples);
  EXPECT_EQ(found.loss, "labels");
  SampleFunction breaks;
  breaks.shape = {784};
  breaks.read = [](std::size_t, std::size_t, void*) { throw std::out_of_range("mine"); };
  options.loss.clear();
  options.test_data = Data::from(200, {breaks});
  EXPECT_THROW((void)sensitivity(model_, samples_, options), std::out_of_range);
}

TEST_F(CppSensitivity, ShowsTheLayersOfAQuantizedNetwork) {
  Recipe recipe = small_layer();
  recipe.defaults.weight_bits = 2;
  const Model quantized = quantize(model_, samples_, recipe).model;
  SensitivityOptions options;
  options.reference = model_;
  options.measure_time = false;
  const Sensitivity found = sensitivity(quantized, samples_, options);
  ASSERT_EQ(found.choices.size(), 1U);
  EXPECT_EQ(found.choices[0].layers.back().weight_bits, 2);
  EXPECT_GT(found.choices[0].units.back().loss, 0);
  EvaluateOptions how;
  how.reference = model_;
  how.execution.fixed_order = true;
  const double kl = evaluate(quantized, samples_, how).reference.value().divergence.value_or(0);
  // Sums of 50 samples in another order.
  EXPECT_NEAR(found.choices[0].units.back().accumulated_loss.value(), kl, 1e-6 * kl);
  options.choices = {"2"};
  expect_error(ErrorKind::kUsage, "reference: the layers of the model are measured as they are",
               [&] { (void)sensitivity(quantized, samples_, options); });
}

TEST_F(CppSensitivity, QuantizesWithinBytes) {
  const std::size_t limit = bytes_with(2) + 200;  // less than another bit takes
  const BudgetResult found =
      quantize_within(model_, samples_, {.bytes = static_cast<double>(limit)}, budget_options());
  const std::vector<std::byte> file = found.model.to_bytes("circle");
  EXPECT_LE(file.size(), limit);
  const BudgetTry& chosen = found.tries.at(found.chosen);
  EXPECT_EQ(chosen.measured.bytes, static_cast<double>(file.size()));
  EXPECT_TRUE(chosen.within);
  EXPECT_TRUE(chosen.optimal);
  EXPECT_GT(chosen.predicted.loss, 0);
  EXPECT_FALSE(chosen.measured.us.has_value());
  ASSERT_EQ(found.choices.size(), 2U);
  EXPECT_EQ(found.choices[1].name, "dense2");
  EXPECT_EQ(found.choices[1].choice, "2/8");
  EXPECT_TRUE(found.choices[1].may_change);
  EXPECT_FALSE(found.choices[0].may_change);
  ASSERT_EQ(found.layers.size(), 2U);
  EXPECT_EQ(found.layers[1].weight_bits, 2);
  EXPECT_GE(found.front.size(), 2U);
  EXPECT_EQ(found.sensitivity.choices.size(), 3U);
  EXPECT_GT(found.seconds, 0);
  const Recipe recipe = parse_recipe(found.recipe);
  EXPECT_EQ(quantize(model_, samples_, recipe).model.to_bytes("circle"), file);
}

TEST_F(CppSensitivity, QuantizesWithinALossOrATime) {
  const BudgetResult loss = quantize_within(model_, samples_, {.loss = 10}, budget_options());
  EXPECT_EQ(loss.choices.at(1).choice, "1/8") << "the smallest file";
  BudgetOptions options = budget_options();
  options.tries = 1;
  options.format = "onnx";
  const BudgetResult time = quantize_within(model_, samples_, {.us = 1e6}, options);
  EXPECT_GT(time.tries.at(0).measured.us.value_or(0), 0);
  EXPECT_EQ(time.tries.at(0).measured.bytes,
            static_cast<double>(time.model.to_bytes("onnx").size()));
}

TEST_F(CppSensitivity, QuantizesWithinFlashAndRam) {
  BudgetOptions options = budget_options();
  options.recipe = {};
  options.choices = {"1", "2", "8"};
  options.tries = 2;
  // Inputs of float32 take 784 x 4 bytes, and codes of 8 bits 784 more.
  const BudgetResult found =
      quantize_within(model_, samples_, {.flash = 160'000, .ram = 3500}, options);
  const CExport written = export_c(found.model, path("c"));
  EXPECT_LE(written.flash_bytes(), 160'000U);
  EXPECT_EQ(found.tries.at(found.chosen).measured.bytes,
            static_cast<double>(written.flash_bytes()));
  EXPECT_EQ(found.ram_bytes, written.arena_bytes);
  EXPECT_LE(written.arena_bytes, 3500U);
  EXPECT_EQ(found.sensitivity.choices.size(), 3U);
  EXPECT_NE(found.choices.front().choice, "8") << "codes of 8 bits take more RAM";
  const auto within = [&](const Budget& budget) {
    (void)quantize_within(model_, samples_, budget, options);
  };
  expect_error(ErrorKind::kUnsupported, "budget ram=3000 cannot be met with these choices",
               [&] { within({.flash = 160'000, .ram = 3000}); });
  expect_error(ErrorKind::kUnsupported, "cannot be met", [&] { within({.flash = 1000}); });
  expect_error(ErrorKind::kUsage, "expected one of bytes and flash",
               [&] { within({.bytes = 1e6, .flash = 1e6}); });
}

TEST_F(CppSensitivity, QuantizesWithinInstructions) {
  BudgetOptions options = budget_options();
  options.recipe = {};
  options.choices = {"1", "2", "8"};
  options.tries = 2;
  options.core = "rv32";
  const BudgetResult found =
      quantize_within(model_, samples_, {.instructions = 1'500'000}, options);
  const CExport written = export_c(found.model, path("c"), {.core = "rv32"});
  EXPECT_LE(written.instructions, 1'500'000U);
  const NetworkCosts& chosen = found.tries.at(found.chosen).measured;
  EXPECT_EQ(chosen.instructions, static_cast<double>(written.instructions));
  EXPECT_FALSE(chosen.pj.has_value());
  EXPECT_TRUE(found.sensitivity.choices.front().layers.front().instructions.has_value());
  options.instruction_pj = 10;
  const BudgetResult energy = quantize_within(model_, samples_, {.pj = 1.5e7}, options);
  EXPECT_EQ(energy.tries.at(energy.chosen).measured.pj, 10 * *chosen.instructions);
  expect_error(ErrorKind::kUnsupported, "budget instructions=1000 cannot be met",
               [&] { (void)quantize_within(model_, samples_, {.instructions = 1000}, options); });
}

TEST_F(CppSensitivity, RefusesWhatCannotBe) {
  SensitivityOptions options = CppSensitivity::options();
  options.choices = {"x"};
  expect_error(ErrorKind::kUsage, "choice: expected float or [SYSTEM:]BITS",
               [&] { (void)sensitivity(model_, samples_, options); });
  options = CppSensitivity::options();
  options.loss = "l2";
  expect_error(ErrorKind::kUsage, "l2", [&] { (void)sensitivity(model_, samples_, options); });
  options.loss.clear();
  options.progress = [](double, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, "interrupted",
               [&] { (void)sensitivity(model_, samples_, options); });
  BudgetOptions how = budget_options();
  const auto within = [&](const Budget& budget) {
    (void)quantize_within(model_, samples_, budget, how);
  };
  expect_error(ErrorKind::kUnsupported, "budget bytes=1000 cannot be met",
               [&] { within({.bytes = 1000}); });
  expect_error(ErrorKind::kUsage, "expected one limit or two, found 0", [&] { within({}); });
  how.tries = 0;
  expect_error(ErrorKind::kUsage, "tries: expected at least 1, found 0",
               [&] { within({.loss = 1}); });
  how = budget_options();
  how.format = "png";
  expect_error(ErrorKind::kUsage, "png", [&] { within({.loss = 1}); });
}

TEST(CppPreset, SaysWhatTheProgramDoes) {
  std::vector<std::string> names;
  for (const Preset& each : presets()) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("int8", "w4a8", "smallest", "fastest"));
  Recipe few;
  few.defaults.weight_bits = 4;
  few.defaults.activation_bits = 8;
  EXPECT_EQ(preset("w4a8").recipe.defaults.weight_bits, few.defaults.weight_bits);
  EXPECT_FALSE(preset("w4a8").budget.has_value());
  const Preset integers = preset("int8");
  EXPECT_EQ(integers.recipe.defaults.activation_scheme, "asymmetric");
  EXPECT_EQ(integers.recipe.defaults.arithmetic, "integers");
  ASSERT_TRUE(preset("smallest").budget.has_value());
  EXPECT_EQ(preset("smallest").budget->loss, 0.01);
  EXPECT_FALSE(preset("smallest").budget->bytes.has_value());
  EXPECT_TRUE(preset("fastest").budget->bytes.has_value());
  expect_error(ErrorKind::kUsage,
               "preset: expected one of int8, w4a8, smallest, fastest, found 'int4'",
               [] { preset("int4"); });
}

TEST(CppPreset, QuantizesAsItsRecipeSays) {
  const Model model = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 20});
  Recipe few;
  few.defaults.weight_bits = 4;
  few.defaults.activation_bits = 8;
  EXPECT_EQ(quantize(model, samples, preset("w4a8").recipe).model.to_bytes("circle"),
            quantize(model, samples, few).model.to_bytes("circle"));
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// The C++ API: networks on described hardware.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "halftone/accel/explore/testing.h"
#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kFolder;
using outside::kModel;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// A chip of one unit that multiplies 100 pairs a cycle, and a memory that is never waited for.
constexpr const char* kChip = R"(name = "chip"
clock_hz = 1e6
[[unit]]
name = "lanes"
kind = "vector"
operations_per_cycle = 1e9
rates = [{ weight_bits = 32, input_bits = 32, float = true, per_cycle = 100 }]
[[memory]]
name = "DRAM"
bytes = 1e9
bytes_per_second = 1e15
)";

const std::string kSpace = accel::test::space_of_arrays("2, 8");

Recipe in_bits(int bits) {
  Recipe recipe;
  recipe.defaults.weight_bits = recipe.defaults.activation_bits = bits;
  return recipe;
}

TEST(CppEstimate, CountsProductsAndCycles) {
  const HardwareEstimate found = estimate(load(kModel), kChip, {.method = "roofline"});
  EXPECT_EQ(found.accelerator, "chip");
  EXPECT_THAT(found.memories, ElementsAre("DRAM"));
  double products = 0;
  double seconds = 0;
  for (const OperationEstimate& each : found.operations) {
    products += each.products;
    seconds += each.seconds;
  }
  EXPECT_EQ(products, 784 * 700 + 700 * 10);  // of the two layers
  EXPECT_DOUBLE_EQ(found.seconds, seconds);
  // A hundred a cycle of a microsecond; elements and bytes add nothing that shows.
  EXPECT_NEAR(found.seconds, products / 100 * 1e-6, 1e-6 * found.seconds);
  // Beside the weights there are 710 biases.
  EXPECT_NEAR(found.footprint.weights, 4.0 * products, 4.0 * 710);
  EXPECT_EQ(found.operations.front().traffic.at(0).memory, 0U);
  EXPECT_EQ(found.method, "roofline");
  EXPECT_EQ(found.split, "data");
  const auto dense = std::ranges::find_if(
      found.operations, [](const OperationEstimate& each) { return each.products > 0; });
  ASSERT_NE(dense, found.operations.end());
  ASSERT_TRUE(dense->matrix);
  EXPECT_EQ(dense->matrix->inner, 784U);
  EXPECT_EQ(dense->matrix->cols, 700U);
}

class CppLanguageEstimate : public outside::WithFolder {
 protected:
  /// TinyLlama 1.1B by its shape.
  CppLanguageEstimate() {
    std::ofstream(path("config.json"))
        << R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22,
               "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 5632,
               "vocab_size": 32000})";
  }
};

TEST_F(CppLanguageEstimate, CountsWeightsCacheAndTokens) {
  const auto estimate_with = [&](const LanguageEstimateOptions& options) {
    return language_estimate(path("config.json"), "h100", options);
  };
  const LanguageEstimate found = estimate_with({.weight_bits = 4, .context = 1000});
  EXPECT_EQ(found.parameters, 1'100'048'384.0 - 45 * 2048);  // as published, without 45 norms
  EXPECT_EQ(found.active_parameters, found.parameters - 32'000.0 * 2048);
  EXPECT_EQ(found.weights, "int4");
  EXPECT_EQ(found.activations, "float16");
  EXPECT_EQ(found.prompt_tokens, 512U);
  EXPECT_EQ(found.context_tokens, 1000U);
  EXPECT_EQ(found.devices_needed, 1U);
  // Keys and values of 4 heads of 64 channels, 22 layers, float16.
  EXPECT_EQ(found.token.footprint.states, 2.0 * 2 * 4 * 64 * 22 * 1000);
  EXPECT_GT(found.prompt.seconds, found.token.seconds);
  ASSERT_GT(found.batches.size(), 3U);
  EXPECT_EQ(found.batches[3].batch, 8U);
  EXPECT_GT(found.batches[3].tokens_per_s(), found.batches[0].tokens_per_s());
  const LanguageEstimate grouped = estimate_with({.weight_bits = 4, .group_size = 32});
  // A scale of 16 bits for 32 weights of 4 bits.
  EXPECT_EQ(8 * grouped.token.footprint.weights, 9 * found.token.footprint.weights);
  EXPECT_LT(estimate_with({.method = "roofline"}).token.seconds, estimate_with({}).token.seconds);
}

TEST_F(CppLanguageEstimate, RefusesWhatHasNoMeaning) {
  const auto expect_usage = [&](const std::string& text, const LanguageEstimateOptions& options) {
    expect_error(ErrorKind::kUsage, text,
                 [&] { language_estimate(path("config.json"), "h100", options); });
  };
  expect_usage("weight bits: expected 1 to 32 bits, found 0", {.weight_bits = 0});
  expect_usage("activation bits: expected 1 to 32 bits, found 33", {.activation_bits = 33});
  expect_usage("cache bits: expected 1 to 32 bits", {.cache_bits = -1});
  expect_usage("batch, prompt, context: expected 1 or more of each", {.prompt = 0});
  expect_error(ErrorKind::kIo, "none.json", [&] { language_estimate(path("none.json"), "h100"); });
}

TEST(CppEstimate, CountsTheBitsOfARecipe) {
  const Model model = load(kModel);
  EstimateOptions options;
  const HardwareEstimate floats = estimate(model, "h100", options);
  options.recipe = in_bits(8);
  options.recipe->defaults.scheme = "int";
  const HardwareEstimate bytes = estimate(model, "h100", options);
  // Codes of a byte in place of floats of four; 710 scales and biases of 555,800 weights.
  EXPECT_NEAR(floats.footprint.weights / bytes.footprint.weights, 4, 4 * 8.0 * 710 / 555'800);
  options.recipe.reset();
  options.training = true;
  EXPECT_GT(estimate(model, "h100", options).seconds, 2 * floats.seconds);
  options = {.batch = 64, .devices = 8, .split = "data"};
  EXPECT_EQ(estimate(model, "h100", options).batch, 64U);
}

TEST(CppEstimate, SaysWhatIsWrong) {
  const Model model = load(kModel);
  const auto expect = [&](const std::string& text, const std::string& chip,
                          const EstimateOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { (void)estimate(model, chip, options); });
  };
  expect("expected one of roofline, tiles, events, found 'guess'", kChip, {.method = "guess"});
  expect("expected one of data, tensor, pipeline, found 'half'", kChip, {.split = "half"});
  expect("'chip' has no [link]", kChip, {.devices = 2});
  expect("devices: expected at least 1, found 0", kChip, {.devices = 0});
  expect("batch: expected at least 1, found 0", kChip, {.batch = 0});
  expect("accelerator: line 1: ", "nonsense = 1\n", {});
  expect("no accelerator 'no-chip': known are ", "no-chip", {});
  expect_error(ErrorKind::kUnsupported, "but memory 'flash' of Cortex-M4 has",
               [&] { (void)estimate(model, "cortex-m4"); });
}

TEST(CppAccelerators, HaveNamesAndTexts) {
  EXPECT_THAT(accelerators(), Contains("h100"));
  const Model model = load(kModel);
  for (const char* name : {"h100", "edge-2bit"}) {
    EXPECT_EQ(estimate(model, accelerator_text(name)).seconds, estimate(model, name).seconds);
  }
  expect_error(ErrorKind::kUsage, "no-chip", [] { (void)accelerator_text("no-chip"); });
}

TEST(CppExplore, ChoosesHardwareAndBits) {
  const Model model = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 60});
  ExploreOptions options;
  options.objective = "energy";
  options.budget.accuracy_drop = 0.2;
  options.test_data = Data::open(kFolder, {.split = "test", .limit = 100});
  double last = 0;
  options.progress = [&](double fraction, std::string_view) {
    last = fraction;
    return true;
  };
  const ExploreResult found = explore(model, samples, kSpace, options);
  EXPECT_GT(last, 0);
  EXPECT_THAT(found.layers, ElementsAre("dense1", "dense2"));
  EXPECT_EQ(found.num_hardware, 2U);
  EXPECT_EQ(found.num_designs, 2 * 2 * 2);  // pairs of bits for each of two layers, chips
  EXPECT_TRUE(found.is_within);
  ASSERT_FALSE(found.front.empty());
  EXPECT_TRUE(std::ranges::is_sorted(found.front, {}, &HardwareDesign::energy_j));
  const VerifiedDesign& chosen = found.verified.at(found.chosen);
  EXPECT_LE(chosen.measured_drop + chosen.drop_standard_error, 0.2);

  // Its bits, quantized and estimated on its hardware.
  const Model small = quantize(model, samples, parse_recipe(found.recipe)).model;
  ASSERT_EQ(small.layers().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(small.layers()[i].weight_bits, chosen.design.bits[i].weights);
  }
  const HardwareEstimate again = estimate(small, found.accelerator);
  EXPECT_DOUBLE_EQ(again.energy_j, found.estimate.energy_j);
}

TEST(CppExplore, SaysWhatIsWrong) {
  const Model model = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 20});
  const auto expect = [&](const std::string& text, const std::string& space,
                          const ExploreOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { (void)explore(model, samples, space, options); });
  };
  expect("tries: expected at least 1, found 0", kSpace, {{.tries = 0}});
  expect("expected one of time, energy, edp, found 'size'", kSpace, {{.objective = "size"}});
  expect("budget: time: expected a number of at least 0", kSpace, {{.budget = {.seconds = -1}}});
  expect("budget: accuracy drop: ", kSpace, {{.budget = {.accuracy_drop = std::nan("")}}});
  expect("space: line 1: ", "nonsense = 1\n", {});
  expect_error(ErrorKind::kIo, "no.toml", [&] { (void)explore(model, samples, "no.toml"); });
  ExploreOptions ended;
  ended.progress = [](double, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, "the progress function ended the work",
               [&] { (void)explore(model, samples, kSpace, ended); });
}

TEST(CppCrossbar, EqualsTheDigitalNetworkOnIdealArrays) {
  const Model model = quantize(load(kModel), Data::open(kFolder, {.limit = 60}), in_bits(2)).model;
  const Data samples = Data::open(kFolder, {.split = "test", .limit = 100});
  const CrossbarResult ideal = crossbar(model, samples, "ideal");
  EXPECT_EQ(ideal.metric, "accuracy");
  EXPECT_EQ(ideal.samples, 100U);
  EXPECT_TRUE(ideal.is_equal);
  EXPECT_EQ(ideal.mean, ideal.digital);
  ASSERT_EQ(ideal.layers.size(), 2U);
  EXPECT_EQ(ideal.layers[0].inputs, 784U);
  EXPECT_EQ(ideal.layers[0].outputs, 700U);

  CrossbarOptions options;
  options.seeds = 2;
  options.seconds = 1e8;
  const CrossbarResult old = crossbar(model, samples, "pcm", options);
  ASSERT_EQ(old.values.size(), 2U);
  EXPECT_FALSE(old.is_equal);
  options.resources.threads = 1;
  EXPECT_EQ(crossbar(model, samples, "pcm", options).values, old.values);
}

TEST(CppHardware, IsMeasuredWhereItIs) {
  MeasureHardwareOptions options;
  options.device = "opencl:99";
  expect_error(ErrorKind::kDevice, "no device opencl:99", [&] { (void)measure_hardware(options); });
  options.device = "cpu";
  options.progress = [](double, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, "", [&] { (void)measure_hardware(options); });
}

TEST(CppCrossbar, SaysWhatIsWrong) {
  const Model model = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 20});
  expect_error(ErrorKind::kUnsupported, "no layer can be mapped",
               [&] { (void)crossbar(model, samples, "ideal"); });
  expect_error(ErrorKind::kUsage, "seeds: expected at least 1, found 0",
               [&] { (void)crossbar(model, samples, "ideal", {.seeds = 0}); });
  expect_error(ErrorKind::kUsage,
               "device: line 1: ", [&] { (void)crossbar(model, samples, "nonsense = 1\n"); });
  expect_error(ErrorKind::kIo, "no-device", [&] { (void)crossbar(model, samples, "no-device"); });
}

}  // namespace

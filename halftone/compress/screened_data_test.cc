// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/screened_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/remembered_states.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {
namespace {

using ir::Graph;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> normal(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(count);
  for (float& each : x) each = static_cast<float>(random.normal());
  return x;
}

data::Dataset dataset(const std::vector<float>& x, const std::vector<std::size_t>& shape) {
  const auto array = data::make_npy(std::span<const float>(x), shape);
  return data::dataset_from_npy("x.npy", own_bytes(data::npy_bytes(array)), {}, {});
}

/// How well a quantized network does on values that have no glitch.
double sqnr_db(const Graph& reference, const Graph& quantized, const std::vector<float>& x,
               std::size_t samples) {
  const ir::Shape shape{static_cast<ir::Dim>(samples), static_cast<ir::Dim>(x.size() / samples)};
  const auto outputs = [&](const Graph& graph) {
    std::vector<ir::Tensor> inputs;
    inputs.push_back(ir::Tensor::from<float>(shape, x));
    return std::move(ir::evaluate_graph(graph, inputs)[0]);
  };
  const ir::Tensor expected = outputs(reference);
  const ir::Tensor found = outputs(quantized);
  numerics::Distortion distortion;
  distortion.add(expected.as<float>(), found.as<float>());
  return distortion.sqnr_db();
}

Recipe integers(int weight_bits, int activation_bits) {
  Recipe recipe;
  recipe.defaults.weight_system = recipe.defaults.activation_system = &numerics::find_system("int");
  recipe.defaults.weight_bits = weight_bits;
  recipe.defaults.activation_bits = activation_bits;
  return recipe;
}

// The second moments have no bound: a value of 1000 among 512 samples of N(0, 1) used to cost 25
// dB.
TEST(ScreenedData, OneGlitchDoesNotRuinAFit) {
  const Graph graph = perceptron(16, 32, 8, 3);
  const std::vector<float> ordinary = normal(512 * 16, 4);
  for (const int activation_bits : {0, 8}) {
    const Recipe recipe = integers(8, activation_bits);
    const QuantizedGraph clean = quantize(graph, dataset(ordinary, {512, 16}), recipe);
    EXPECT_THAT(clean.warnings, IsEmpty());
    const double expected = sqnr_db(graph, clean.graph, ordinary, 512);
    for (const float glitch : {1e3F, -1e4F, 1e30F}) {
      std::vector<float> x = ordinary;
      x[7 * 16 + 5] = glitch;
      const QuantizedGraph result = quantize(graph, dataset(x, {512, 16}), recipe);
      EXPECT_GT(sqnr_db(graph, result.graph, ordinary, 512), expected - 1) << glitch;
      ASSERT_EQ(result.warnings.size(), 1U);
      EXPECT_THAT(result.warnings[0], HasSubstr("x.npy: sample 7 is left out of the fit: the "
                                                "largest magnitude of 'x' is"));
    }
  }
}

TEST(ScreenedData, KeepsOrdinaryDataAsItIs) {
  const Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(300, 20, 1);
  const ScreenedData found = screened(graph, data, {});
  EXPECT_THAT(found.warnings, IsEmpty());
  EXPECT_EQ(found.data.size(), 300U);
  EXPECT_EQ(found.data.origin(299), 299U);
  EXPECT_FALSE(found.data.has_gaps());
}

TEST(ScreenedData, NamesTheSamples) {
  std::vector<float> x = normal(512 * 16, 5);
  for (const std::size_t sample : {3U, 40U, 41U, 99U, 500U}) x[sample * 16] = 2e3F;
  const ScreenedData found = screened(perceptron(16, 4, 2, 3), dataset(x, {512, 16}), {});
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_THAT(found.warnings[0],
              HasSubstr("samples 3, 40, 41 and 2 others are left out of the fit"));
  EXPECT_EQ(found.data.size(), 507U);
  EXPECT_EQ(found.data.origin(3), 4U);
}

// A feature of large numbers hides the glitch in the input, but not behind its scaling.
TEST(ScreenedData, LooksAtTheInputsOfFirstLayers) {
  Random random(1);
  Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 2}));
  const auto factor = graph.add_constant(
      "f", ir::Tensor::from<float>({2}, std::span<const float>(std::array{1e-5F, 1.0F})));
  const auto scaled = graph.add_node("scale", ir::Binary{ir::BinaryKind::kMul, {}}, {x, factor});
  graph.add_output(add_layer(graph, "fc", scaled, random_tensor({3, 2}, random), random));
  std::vector<float> values = normal(2 * 100, 6);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] *= 1e5F;
  values[2 * 33 + 1] = 1e3F;
  const ScreenedData found = screened(graph, dataset(values, {100, 2}), {});
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_THAT(found.warnings[0], HasSubstr("sample 33 is left out"));
}

/// y = where(mask > 0, fc(x), 0), summed over the rows of a sample.
Graph masked_network() {
  Random random(1);
  Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6, 8}));
  const auto mask =
      graph.add_input("mask", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6, 1}));
  const auto y = add_layer(graph, "fc", x, random_tensor({5, 8}, random), random);
  const auto zero = graph.add_constant(
      "zero", ir::Tensor::from<float>({1}, std::span<const float>(std::array{0.0F})));
  const auto kept = graph.add_node("kept", ir::Binary{ir::BinaryKind::kGreater, {}}, {mask, zero});
  const auto masked = graph.add_node("masked", ir::Where{}, {kept, y, zero});
  graph.add_output(add_layer(graph, "last", masked, random_tensor({3, 5}, random), random));
  return graph;
}

data::Dataset masked_data(const std::vector<float>& x, const std::vector<float>& mask) {
  const std::size_t samples = mask.size() / 6;
  const auto source = [&](const char* name, const std::vector<float>& values,
                          std::vector<std::size_t> shape) {
    data::DatasetInput input = dataset(values,
                                       [&] {
                                         std::vector<std::size_t> whole{samples};
                                         whole.insert(whole.end(), shape.begin(), shape.end());
                                         return whole;
                                       }())
                                   .inputs()[0];
    input.name = name;
    input.is_named = true;
    return input;
  };
  return {"masked", samples, {source("x", x, {6, 8}), source("mask", mask, {6, 1})}, {}, {}};
}

TEST(ScreenedData, LeavesOutRowsThatAreNotFiniteWhereTheyAreMasked) {
  const Graph graph = masked_network();
  constexpr std::size_t kSamples = 64;
  std::vector<float> x = normal(kSamples * 6 * 8, 7);
  std::vector<float> mask(kSamples * 6, 1);
  for (std::size_t row = 0; row < mask.size(); row += 5) {
    mask[row] = 0;
    x[row * 8 + row % 8] = kNan;
  }
  for (const int activation_bits : {0, 4}) {
    for (const int steps : {0, 4}) {
      Recipe recipe = integers(4, activation_bits);
      recipe.fit.reconstruct.steps = steps;
      const QuantizedGraph result = quantize(graph, masked_data(x, mask), recipe);
      ASSERT_EQ(result.warnings.size(), 1U);
      EXPECT_THAT(result.warnings[0], HasSubstr("have values that are NaN or infinite but do not "
                                                "reach the outputs"));
      for (const LayerReport& layer : result.layers) EXPECT_GT(layer.sqnr_db, 15) << layer.name;
    }
  }
  // Behind tanh an infinity would be a number like others.
  std::vector<float> infinite = x;
  infinite[0] = kInfinity;
  expect_error(ErrorKind::kFormat, "masked: sample 0: expected finite numbers, found",
               [&] { (void)quantize(graph, masked_data(infinite, mask), integers(4, 0)); });
  mask.assign(mask.size(), 1);
  expect_error(ErrorKind::kFormat, "masked: sample 0: expected finite numbers, found NaN",
               [&] { (void)quantize(graph, masked_data(x, mask), integers(4, 0)); });
}

/// Softmax of two rows, the second of which is masked as a whole, and a layer behind it.
Graph network_with_masked_row(std::size_t read_row) {
  Random random(9);
  Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 2, 8}));
  ir::Tensor mask(ir::ElementType::kFloat32, ir::Shape{2, 1});
  mask.as<float>()[1] = -kInfinity;
  const auto masked = graph.add_node("mask", ir::Binary{ir::BinaryKind::kAdd, {}},
                                     {x, graph.add_constant("m", std::move(mask))});
  const auto shares = graph.add_node("softmax", ir::Softmax{2}, {masked});
  const auto y = add_layer(graph, "layer", shares, random_tensor({4, 8}, random, 0.3F), random);
  graph.add_output(graph.add_node("row", ir::Slice{1, read_row, 1, 1}, {y}));
  return graph;
}

TEST(ScreenedData, LeavesOutRowsThatBecomeNanInTheNetwork) {
  const data::Dataset data = dataset(normal(64 * 2 * 8, 7), {64, 2, 8});
  const QuantizedGraph result = quantize(network_with_masked_row(0), data, integers(8, 8));
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_THAT(result.warnings[0], HasSubstr("rows with them are left out of the fit"));
  EXPECT_GT(result.layers[0].sqnr_db, 25);
  expect_error(ErrorKind::kFormat, "becomes NaN or infinite",
               [&] { (void)quantize(network_with_masked_row(1), data, integers(8, 8)); });
}

TEST(ScreenedData, WarnsOfFewSamplesAndOfPixelsThatAreNotScaled) {
  const Graph graph = perceptron(100, 4, 2, 3);
  std::vector<float> x = normal(31 * 100, 8);
  EXPECT_THAT(screened(graph, dataset(x, {31, 100}), {}).warnings,
              ElementsAre("x.npy: 31 samples say little of what the network will see; some "
                          "hundreds are better"));
  Random random(2);
  std::vector<float> pixels(64 * 100);
  for (float& each : pixels) each = static_cast<float>(random.below(256));
  EXPECT_THAT(screened(graph, dataset(pixels, {64, 100}), {}).warnings,
              ElementsAre(HasSubstr("the first layer reads 'x' as whole numbers from 0 to 255")));
  for (float& each : pixels) each /= 255;
  EXPECT_THAT(screened(graph, dataset(pixels, {64, 100}), {}).warnings, IsEmpty());
}

TEST(ScreenedData, HasWhatTheNetworkRemembersBeforeEachSample) {
  const Graph graph = ir::test::running_sum();
  const data::Dataset given = dataset({1, 2, 3, 4, 5, 6}, {3, 2});
  const data::Dataset data = with_states(graph, given);
  ASSERT_EQ(data.inputs().size(), 2U);
  EXPECT_EQ(data.inputs()[0].name, "x");
  EXPECT_EQ(data.inputs()[1].name, "sum");
  std::vector<float> sums(6);
  data.read(1, 0, 3, sums);
  EXPECT_THAT(sums, ElementsAre(0, 0, 1, 2, 4, 6));
  EXPECT_EQ(with_states(graph, data).inputs()[1].source, data.inputs()[1].source);
  EXPECT_EQ(screened(graph, given, {}).data.inputs().size(), 2U);
}

}  // namespace
}  // namespace halftone::compress

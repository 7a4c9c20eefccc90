// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/network.h"

#include <cmath>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/layer_arithmetic.h"

namespace halftone::crossbar {
namespace {

constexpr std::size_t kSamples = 300;
constexpr ir::Dim kInputs = 90;
constexpr std::size_t kClasses = 7;

ir::Graph quantized(int bits) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = bits;
  recipe.defaults.activation_bits = bits;
  return compress::quantize(compress::perceptron(kInputs, 60, kClasses, 1),
                            compress::random_dataset(200, kInputs, 2), recipe)
      .graph;
}

data::Dataset labelled() {
  Random random(4);
  std::vector<std::int64_t> labels(kSamples);
  for (auto& label : labels) label = static_cast<std::int64_t>(random.below(kClasses));
  return compress::random_dataset(kSamples, kInputs, 3, labels);
}

TEST(EvaluateOnArrays, OfAnIdealDeviceEqualsTheDigitalNetwork) {
  for (const int bits : {1, 2, 3}) {
    CrossbarDevice device = load_device("ideal");
    device.rows = 63;
    device.adc.bits = 6;
    NetworkOptions options;
    options.num_seeds = 5;
    const NetworkResult result = evaluate(quantized(bits), labelled(), device, options);
    EXPECT_TRUE(result.is_equal) << bits;
    EXPECT_EQ(result.agreement, 1);
    EXPECT_EQ(result.values, std::vector<double>{*result.digital}) << "nothing is random";
    EXPECT_EQ(result.mean, *result.digital);
    EXPECT_EQ(result.deviation, 0);
    device.adc.bits = 5;
    EXPECT_FALSE(evaluate(quantized(bits), labelled(), device, options).is_equal) << bits;
  }
}

TEST(EvaluateOnArrays, HasAMeanAndASpreadOverSeeds) {
  CrossbarDevice device = load_device("pcm");
  device.programming_scale = 10;
  NetworkOptions options;
  options.num_seeds = 4;
  options.seed = 7;
  const NetworkResult result = evaluate(quantized(2), labelled(), device, options);
  ASSERT_EQ(result.values.size(), 4U);
  EXPECT_LT(result.agreement, 1);
  EXPECT_FALSE(result.is_equal);
  double mean = 0;
  for (const double value : result.values) mean += value / 4;
  double squares = 0;
  for (const double value : result.values) squares += (value - mean) * (value - mean);
  EXPECT_DOUBLE_EQ(result.mean, mean);
  EXPECT_DOUBLE_EQ(result.deviation, std::sqrt(squares / 3));
  EXPECT_GT(result.deviation, 0);
  options.seed = 8;
  options.num_seeds = 1;
  EXPECT_EQ(evaluate(quantized(2), labelled(), device, options).values[0], result.values[1]);
}

TEST(EvaluateOnArrays, GivesTheSameForAnyNumberOfThreads) {
  CrossbarDevice device = load_device("reram");
  device.segment_ohms = 2;
  device.rows = device.columns = 32;
  device.programming_scale = 5;
  NetworkOptions options;
  options.num_seeds = 2;
  set_num_threads(1);
  const NetworkResult one = evaluate(quantized(2), labelled(), device, options);
  set_num_threads(0);
  options.evaluate.batch = 17;
  const NetworkResult other = evaluate(quantized(2), labelled(), device, options);
  EXPECT_EQ(other.values, one.values);
  EXPECT_EQ(other.agreement, one.agreement);
}

TEST(EvaluateOnArrays, RejectsNetworksWithoutLayersOfBits) {
  const ir::Graph dense = compress::perceptron(kInputs, 60, kClasses, 1);
  NetworkOptions options;
  options.evaluate.network = "m.onnx";
  expect_error(ErrorKind::kUnsupported,
               "m.onnx: no layer can be mapped on arrays; 'first': the input is not encoded",
               [&] { evaluate(dense, labelled(), load_device("ideal"), options); });
  options.num_seeds = 0;
  expect_error(ErrorKind::kUsage, "seeds: expected at least 1, found 0",
               [&] { evaluate(quantized(1), labelled(), load_device("ideal"), options); });
}

TEST(LayerUses, CountConversionsEnergyAndTime) {
  CrossbarDevice device = load_device("ideal");
  device.costs = {1e-15, 2e-12, 1e-9};
  const std::vector<LayerUse> uses = layer_uses(with_bits(quantized(2)), device);
  ASSERT_EQ(uses.size(), 2U);
  const LayerUse& first = uses[0];
  EXPECT_EQ(first.digital, "");
  EXPECT_EQ(first.op, "FullyConnected");
  EXPECT_EQ(first.inputs, 90U);
  EXPECT_EQ(first.outputs, 60U);
  EXPECT_EQ(first.weight_bits, 2);
  EXPECT_EQ(first.input_bits, 2);
  EXPECT_EQ(first.arrays, 1U);            // 120 pairs of 128
  EXPECT_EQ(first.cells, 90U * 241);      // with a reference column
  EXPECT_EQ(first.conversions, 2 * 240);  // two planes of inputs
  EXPECT_DOUBLE_EQ(first.joules, 2 * 90 * 241 * 1e-15 + 480 * 2e-12);
  EXPECT_DOUBLE_EQ(first.seconds, 2 * 30e-9);  // 8 converters
}

TEST(WithBits, LetsLayersOfManyPlanesComputeBits) {
  const ir::Graph graph = with_bits(quantized(3));
  for (const ir::NodeId id : graph.topological_order()) {
    if (!std::holds_alternative<ir::FullyConnected>(graph.node(id).op)) continue;
    EXPECT_EQ(ir::arithmetic_of(graph, graph.node(id)), ir::Arithmetic::kBits);
  }
}

}  // namespace
}  // namespace halftone::crossbar

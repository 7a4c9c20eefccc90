// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/inexact_layer.h"

#include <cmath>

#include "halftone/accel/crossbar/layer.h"
#include "halftone/accel/crossbar/network.h"
#include "halftone/base/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::crossbar {
namespace {

using runtime::testing::LayerCase;

ir::Graph graph_in_bits(const LayerCase& layer) {
  return runtime::testing::with_arithmetic(runtime::testing::graph_of(layer, 2, 2),
                                           ir::Arithmetic::kBits);
}

std::vector<LayerCase> layers_on_arrays() {
  std::vector<LayerCase> cases = runtime::testing::layer_cases();
  std::erase_if(cases, [](const LayerCase& layer) {
    const ir::Graph graph = graph_in_bits(layer);
    return why_digital(graph, runtime::testing::layer_of(graph)).has_value();
  });
  ir::Conv strided{{{2, 1}, {1, 2}, {0, 2}, {1, 1}}, 2, {}};
  cases.push_back({"ConvOfTwoGroups", strided, {ir::kBatch, 7, 6, 10}, {8, 3, 2, 5}});
  return cases;
}

std::vector<float> seen_of(const ir::Graph& graph, const CrossbarDevice& device,
                           std::uint64_t seed) {
  const ir::Node& node = runtime::testing::layer_of(graph);
  const auto& weights = std::get<ir::EncodedTensor>(*graph.constant(node.inputs[1]));
  return inexact_layer(graph, node, weights, device, seed).value();
}

std::vector<float> levels_of(const ir::Graph& graph) {
  const ir::Node& node = runtime::testing::layer_of(graph);
  const ir::Tensor levels = ir::to_float(*graph.constant(node.inputs[1]));
  return {levels.as<float>().begin(), levels.as<float>().end()};
}

TEST(InexactLayer, OfIdealCellsHasTheLevelsOfTheCodes) {
  for (const LayerCase& layer : layers_on_arrays()) {
    const ir::Graph graph = graph_in_bits(layer);
    const std::vector<float> levels = levels_of(graph);
    const std::vector<float> seen = seen_of(graph, load_device("ideal"), 1);
    ASSERT_EQ(seen.size(), levels.size()) << layer.name;
    // Two coefficients and an offset of at most 2: four roundings of float32.
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], levels[i], 5e-7F);
  }
}

TEST(InexactLayer, ShrinksAndSpreadsWithDrift) {
  CrossbarDevice device = load_device("pcm");
  device.off_siemens = 0;
  device.programming = Programming::kNone;
  device.read_noise = ReadNoise::kNone;
  device.drift = Drift::kPower;
  device.drift_exponent = 0.05;
  device.drift_spread = 0;
  device.seconds = 86400;
  const double kept = std::pow(device.seconds / device.drift_start_seconds, -0.05);
  const LayerCase layer = layers_on_arrays().front();
  const ir::Graph graph = graph_in_bits(layer);
  const std::vector<float> levels = levels_of(graph);
  const std::vector<float> seen = seen_of(graph, device, 1);
  const ir::Node& node = runtime::testing::layer_of(graph);
  const auto& weights = std::get<ir::EncodedTensor>(*graph.constant(node.inputs[1]));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double offset =
        weights.encoding->basis(i / weights.codes.cols, 0, weights.codes.cols).offset;
    ASSERT_NEAR(seen[i] - offset, kept * (levels[i] - offset), 1e-6);
  }
  device.drift_spread = 0.01;
  EXPECT_NE(seen_of(graph, device, 1), seen);
  EXPECT_EQ(seen_of(graph, device, 1), seen_of(graph, device, 1));
  EXPECT_NE(seen_of(graph, device, 1), seen_of(graph, device, 2));
}

/// The outputs of the layer with float weights, computed with the reference implementation.
std::vector<float> with_weights(ir::Graph graph, std::span<const float> weights,
                                const std::vector<float>& samples) {
  const ir::NodeId id = graph.topological_order().back();
  const ir::Node node = graph.node(id);
  const ir::Shape shape = graph.value(node.inputs[1]).type.shape;
  const auto dense = graph.add_constant("dense", ir::Tensor::from<float>(shape, weights));
  ir::Operator op = node.op;
  *ir::arithmetic(op) = ir::Arithmetic::kFloat;
  graph.replace_node(id, std::move(op), {node.inputs[0], dense});
  graph.infer_all();
  const ir::Shape all =
      graph.value(graph.inputs()[0]).type.shape.with_batch(runtime::testing::kSamples);
  const std::vector<ir::Tensor> outputs = ir::test::run_reference(
      graph, ir::test::list(ir::Tensor::from<float>(all, std::span<const float>(samples))));
  return {outputs[0].as<float>().begin(), outputs[0].as<float>().end()};
}

TEST(InexactLayer, GivesTheOutputsOfTheArrays) {
  CrossbarDevice device = load_device("pcm");
  device.levels = 4;  // the levels of a basis are no whole counts: a converter may have fine steps
  device.adc.bits = 16;
  device.seconds = 86400;
  const ir::Activation none;
  for (const LayerCase& layer :
       std::vector<LayerCase>{{"Full", ir::FullyConnected{none}, {ir::kBatch, 200}, {9, 200}},
                              {"Conv",
                               ir::Conv{{{2, 1}, {1, 2}, {0, 2}, {1, 1}}, 2, {}},
                               {ir::kBatch, 7, 6, 10},
                               {8, 3, 2, 5}}}) {
    const ir::Graph graph = graph_in_bits(layer);
    Random random(5);
    const std::size_t each = layer.x.with_batch(1).element_count();
    std::vector<float> samples(runtime::testing::kSamples * each);
    for (float& x : samples) x = static_cast<float>(random.normal());
    runtime::PlanSettings options;
    options.execution.bit_layers = [&](const runtime::NodeContext& context) {
      return layer_kernel(context, device, 3);
    };
    const std::vector<float> found = runtime::testing::run_in_batches(graph, options, samples);
    const std::vector<float> seen = seen_of(graph, device, 3);
    std::vector<float> rest = levels_of(graph);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= seen[i];
    const std::vector<float> products = with_weights(graph, seen, samples);
    // Inputs below all levels have code 0.
    const std::vector<float> still =
        with_weights(graph, rest, std::vector<float>(samples.size(), -100.0F));
    // As in layer_test.cc: half a step of at most 200 x 3 / 65535 levels of 2 x 1.1 / 3.
    const float tolerance = 1.1F * (0.5F * 0.00916F) * 0.74F * 2 * 1.9F;
    double shift = 0;
    ASSERT_EQ(found.size(), products.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], products[i] + still[i], tolerance) << layer.name << " " << i;
      shift += std::abs(still[i]);
    }
    EXPECT_GT(shift / static_cast<double>(found.size()), 10 * tolerance) << layer.name;
  }
}

TEST(InexactLayer, IsNothingForADigitalLayer) {
  for (const LayerCase& layer : runtime::testing::layer_cases()) {
    if (!ir::is_recurrent(layer.op)) continue;
    const ir::Graph graph = graph_in_bits(layer);
    const ir::Node& node = runtime::testing::layer_of(graph);
    const auto& weights = std::get<ir::EncodedTensor>(*graph.constant(node.inputs[1]));
    EXPECT_EQ(inexact_layer(graph, node, weights, load_device("pcm"), 1), std::nullopt);
  }
}

}  // namespace
}  // namespace halftone::crossbar

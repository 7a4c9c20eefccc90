// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/full_integer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/compress/report_testing.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone::compress {
namespace {

std::size_t count_of(const ir::Graph& graph, std::string_view name) {
  std::size_t count = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    if (name_of(graph.node(id).op) == name) ++count;
  }
  return count;
}

QuantizeResult to_integers(const Recipe& recipe = {}, spmd::Devices devices = {}) {
  QuantizeOptions options;
  options.devices = std::move(devices);
  return quantize_to_integers(perceptron(20, 16, 4, 2), random_dataset(200, 20, 1), recipe, options,
                              passes::kTfliteCodes);
}

TEST(FullInteger, GivesEveryLayerCodesOfEightBits) {
  const QuantizeResult result = to_integers();
  expect_two_layers(result, 8, 8, 25);
  // Input, sums before Tanh, Tanh, output.
  EXPECT_EQ(count_of(result.graph, "QuantizeLinear"), 4U);
  EXPECT_EQ(count_of(result.graph, "Encode"), 0U);
  EXPECT_EQ(result.graph.value(result.graph.outputs()[0]).name, "second");
}

TEST(FullInteger, GivesTheSameOnAnyNumberOfDevices) {
  const ir::Graph one = to_integers({}, spmd::Devices::emulate(1)).graph;
  const ir::Graph many = to_integers({}, spmd::Devices::emulate(3)).graph;
  const ir::Tensor x = ir::test::random_tensor({5, 20}, 3);
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(one, ir::test::list(x.clone())),
                                   ir::test::run_reference(many, ir::test::list(x.clone()))));
}

TEST(FullInteger, TakesTheRangesOfTheCalibrator) {
  Recipe recipe;
  recipe.defaults.calibrator = Calibrator::kPercentile;
  recipe.defaults.percentile = 90;
  const ir::Graph narrow = to_integers(recipe).graph;
  const ir::Graph wide = to_integers().graph;
  const auto scale_of_input = [](const ir::Graph& graph) {
    const ir::Node& node = graph.node(graph.consumers(graph.inputs()[0])[0]);
    return std::get<ir::QuantizeLinear>(node.op).parameters.scales[0];
  };
  EXPECT_LT(scale_of_input(narrow), 0.8F * scale_of_input(wide));
}

TEST(FullInteger, KeepsSkippedLayersFloat) {
  Recipe recipe;
  LayerSettings skipped;
  skipped.skip = true;
  recipe.overrides.push_back({"second", skipped});
  const QuantizeResult result = to_integers(recipe);
  EXPECT_EQ(result.layers[0].weight_bits, 8);
  EXPECT_EQ(result.layers[1].weight_bits, 32);
  EXPECT_EQ(result.layers[1].activation_bits, 32);
}

TEST(FullInteger, GivesAConstantValueCodes) {
  // A layer whose output is 3 for all samples.
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 20}));
  const auto w = graph.add_constant("w", ir::Tensor(ir::ElementType::kFloat32, {2, 20}));
  const auto b = graph.add_constant("b", ir::test::floats({2}, {3, 3}));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w, b}, "y"));
  const QuantizeResult result =
      quantize_to_integers(graph, random_dataset(64, 20, 1), {}, {}, passes::kOnnxCodes);
  const auto y = ir::test::run_reference(
      result.graph, ir::test::list(ir::Tensor(ir::ElementType::kFloat32, {1, 20})));
  for (const float value : y[0].as<float>()) EXPECT_NEAR(value, 3, 3.0F / 255);
}

TEST(FullInteger, RefusesNetworksWhoseLayersAllStayFloat) {
  Recipe recipe;
  LayerSettings skipped;
  skipped.skip = true;
  recipe.overrides.push_back({"*", skipped});
  expect_error(ErrorKind::kUnsupported, "no layer to quantize to integers: expected FullyConnected",
               [&] { to_integers(recipe); });
}

TEST(FullInteger, RefusesOtherBitsAndSystems) {
  const auto refuses = [](const std::function<void(LayerSettings&)>& change, const char* what) {
    Recipe recipe;
    change(recipe.defaults);
    expect_error(
        ErrorKind::kUsage,
        std::string("recipe: full-integer quantization has 8-bit weights in int_narrow "
                    "with a scale per channel and 8-bit inputs in asymmetric; leave out ") +
            what,
        [&] { to_integers(recipe); });
  };
  refuses([](LayerSettings& s) { s.weight_bits = 4; }, "weight_bits");
  refuses([](LayerSettings& s) { s.activation_bits = 0; }, "activation_bits");
  refuses([](LayerSettings& s) { s.weight_system = &numerics::find_system("nf4"); },
          "the number system of weights");
  refuses([](LayerSettings& s) { s.activation_system = &numerics::find_system("basis"); },
          "the number system of inputs");
  refuses([](LayerSettings& s) { s.granularity = numerics::Granularity::kTensor; }, "granularity");
  refuses([](LayerSettings& s) { s.activation_scales = ActivationScales::kRow; },
          "activation_scales");
  refuses([](LayerSettings& s) { s.arithmetic = ir::Arithmetic::kBits; }, "arithmetic");
}

TEST(FullInteger, RefusesACalibratorOfALayer) {
  Recipe recipe;
  LayerSettings settings;
  settings.calibrator = Calibrator::kKl;
  recipe.overrides.push_back({"first", settings, "r.toml: line 3"});
  expect_error(ErrorKind::kUsage,
               "r.toml: line 3: full-integer quantization has one calibrator for all values",
               [&] { to_integers(recipe); });
}

}  // namespace
}  // namespace halftone::compress

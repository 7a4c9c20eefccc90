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

QuantizedGraph to_integers(const Recipe& recipe = {}, spmd::Devices devices = {}) {
  QuantizeSettings options;
  options.devices = std::move(devices);
  return quantize_to_integers(perceptron(20, 16, 4, 2), random_dataset(200, 20, 1), recipe, options,
                              passes::kTfliteCodes);
}

TEST(FullInteger, GivesEveryLayerCodesOfEightBits) {
  const QuantizedGraph result = to_integers();
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
  const QuantizedGraph result = to_integers(recipe);
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
  const QuantizedGraph result =
      quantize_to_integers(graph, random_dataset(64, 20, 1), {}, {}, passes::kOnnxCodes);
  const auto y = ir::test::run_reference(
      result.graph, ir::test::list(ir::Tensor(ir::ElementType::kFloat32, {1, 20})));
  for (const float value : y[0].as<float>()) EXPECT_NEAR(value, 3, 3.0F / 255);
}

/// Boxes up to some hundred and scores below 1, from one input [N, 20].
struct Head {
  ir::Graph graph;
  ir::ValueId boxes{};
  ir::ValueId scores{};
};

Head head() {
  Head head;
  const auto x = head.graph.add_input("x", ir::test::float_type({ir::kBatch, 20}));
  const auto layer = [&](const std::string& name, float size, std::uint64_t seed) {
    ir::Tensor weights = ir::test::random_tensor({4, 20}, seed);
    for (float& w : weights.as<float>()) w *= size;
    const auto w = head.graph.add_constant(name + "/w", std::move(weights));
    return head.graph.add_node(name, ir::FullyConnected{}, {x, w});
  };
  head.boxes = layer("boxes", 100, 1);
  const ir::Unary sigmoid{{ir::ActivationKind::kSigmoid}};
  head.scores = head.graph.add_node("scores", sigmoid, {layer("logits", 0.5F, 2)});
  return head;
}

/// The outputs of a network and of its form in integers differ by less than `bounds` in columns.
void expect_close_columns(const ir::Graph& graph, const ir::Graph& integers,
                          const std::vector<float>& bounds) {
  const ir::Tensor x = ir::test::random_tensor({9, 20}, 3);
  const auto wanted = ir::test::run_reference(graph, ir::test::list(x.clone()));
  const auto found = ir::test::run_reference(integers, ir::test::list(x.clone()));
  ASSERT_EQ(wanted[0].size(), found[0].size());
  for (std::size_t i = 0; i < wanted[0].size(); ++i) {
    EXPECT_NEAR(found[0].as<float>()[i], wanted[0].as<float>()[i], bounds[i % bounds.size()]);
  }
}

QuantizedGraph integers_of(const ir::Graph& graph) {
  return quantize_to_integers(graph, random_dataset(200, 20, 1), {}, {}, passes::kOnnxCodes);
}

/// Half a step of every input (8 / 255 / 2) times the weights (sum 20 x 80), of every weight (300 /
/// 127 / 2) times the inputs (sum 20 x 0.8), and of the result (2500 / 255 / 2); for scores with
/// weights 200 times smaller, and the slope of Sigmoid, 1 / 4. Lost scores are off by up to 1.
constexpr float kBoxStep = 49;
constexpr float kScoreStep = 49.0F / 200 / 4;
const std::vector<float> kBounds = {kBoxStep,   kBoxStep,   kBoxStep,   kBoxStep,
                                    kScoreStep, kScoreStep, kScoreStep, kScoreStep};

TEST(FullInteger, JoinsPartsFarApartInFloat) {
  using Join = std::function<ir::ValueId(Head&)>;
  const Join plain = [](Head& h) {
    return h.graph.add_node("joined", ir::Concat{1}, {h.boxes, h.scores});
  };
  const Join moved = [](Head& h) {  // a stack of both, flattened again
    const ir::Reshape row{{ir::kBatch, 1, 4}};
    const auto a = h.graph.add_node("a", row, {h.boxes});
    const auto b = h.graph.add_node("b", row, {h.scores});
    const auto stack = h.graph.add_node("joined", ir::Concat{1}, {a, b});
    return h.graph.add_node("flat", ir::Reshape{{ir::kBatch, 8}}, {stack});
  };
  const Join twice = [](Head& h) {
    const auto part = [&](const char* name, ir::ValueId from, std::size_t first) {
      return h.graph.add_node(name, ir::Slice{1, first, 1, 2}, {from});
    };
    const auto inner =
        h.graph.add_node("inner", ir::Concat{1}, {part("b2", h.boxes, 2), part("s0", h.scores, 0)});
    return h.graph.add_node("joined", ir::Concat{1},
                            {part("b0", h.boxes, 0), inner, part("s2", h.scores, 2)});
  };
  for (const Join& join : {plain, moved, twice}) {
    Head h = head();
    h.graph.add_output(join(h));
    const QuantizedGraph result = integers_of(h.graph);
    ASSERT_FALSE(result.warnings.empty());
    EXPECT_THAT(result.warnings.back(), testing::HasSubstr("stays float32: one scale of 8 bits"));
    expect_close_columns(h.graph, result.graph, kBounds);
  }
}

TEST(FullInteger, JoinsPartsOfOneSizeInCodesWithoutANote) {
  Head h = head();
  h.graph.add_output(h.graph.add_node("joined", ir::Concat{1}, {h.scores, h.scores}));
  EXPECT_TRUE(integers_of(h.graph).warnings.empty());
}

TEST(FullInteger, KeepsPartsApartForTheirReadersAndOutputs) {
  Head h = head();
  const auto joined = h.graph.add_node("joined", ir::Concat{1}, {h.boxes, h.scores});
  const auto w = h.graph.add_constant("last/w", ir::test::random_tensor({3, 8}, 7));
  h.graph.add_output(joined);
  h.graph.add_output(h.graph.add_node("last", ir::FullyConnected{}, {joined, w}));
  const QuantizedGraph result = integers_of(h.graph);
  expect_close_columns(h.graph, result.graph, kBounds);  // though a layer reads codes
}

TEST(FullInteger, SaysThatASumLosesItsSmallerOperand) {
  Head h = head();
  h.graph.add_output(
      h.graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {h.boxes, h.scores}));
  const QuantizedGraph result = integers_of(h.graph);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_THAT(result.warnings[0], testing::HasSubstr("'sum' loses most of its smaller operand"));
}

// Products that become layers by a transpose: the reports compare these.
TEST(FullInteger, TakesAConstantOnTheLeftAndAVector) {
  ir::Graph left;
  const auto x = left.add_input("x", ir::test::float_type({ir::kBatch, 20, 5}));
  const auto w = left.add_constant("w", ir::test::random_tensor({7, 20}, 4));
  left.add_output(left.add_node("left", ir::MatMul{}, {w, x}));
  const QuantizedGraph result =
      quantize_to_integers(left, random_dataset(64, 100, 1), {}, {}, passes::kOnnxCodes);
  ASSERT_EQ(result.layers.size(), 1U);
  EXPECT_EQ(result.layers[0].activation_bits, 8);
  EXPECT_GT(result.layers[0].sqnr_db, 30);
  ir::Graph vector;
  const auto v = vector.add_input("x", ir::test::float_type({ir::kBatch, 20}));
  const auto u = vector.add_constant("u", ir::test::random_tensor({20}, 5));
  vector.add_output(vector.add_node("vec", ir::MatMul{}, {v, u}));
  EXPECT_GT(integers_of(vector).layers[0].sqnr_db, 30);
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

// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/insert_codes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "halftone/numerics/systems.h"
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::ValueId;

const WantsCodes kAll = [](const ir::Node&) { return true; };

ValueId add_conv(ir::Graph& graph, const std::string& name, ValueId x, ir::Activation activation) {
  const ir::Dim channels = graph.value(x).type.shape.back();
  const auto seed = static_cast<std::uint64_t>(name.back());
  const ValueId w =
      graph.add_constant(name + "/w", ir::test::random_tensor({4, 3, 3, channels}, seed));
  const ValueId b = graph.add_constant(name + "/b", ir::test::random_tensor({4}, seed + 1));
  ir::Conv conv;
  conv.window = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
  conv.activation = activation;
  return graph.add_node(name, conv, {x, w, b});
}

/// Two convolutions joined by a sum, pooling, a layer and Softmax.
ir::Graph network(ir::Activation activation = {ActivationKind::kRelu}) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6, 6, 3}));
  const ValueId a = add_conv(graph, "conv1", x, activation);
  const ValueId b = add_conv(graph, "conv2", a, {});
  const ValueId sum = graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {a, b});
  ir::Pool pool;
  pool.kernel = {2, 2};
  pool.window = {{2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const ValueId most = graph.add_node("pool", pool, {sum});
  const ValueId mean =
      graph.add_node("mean", ir::Reduce{ir::ReduceKind::kMean, {1, 2}, false}, {most});
  const ValueId w = graph.add_constant("w", ir::test::random_tensor({5, 4}, 9));
  const ValueId logits = graph.add_node("dense", ir::FullyConnected{}, {mean, w, ir::kAbsent});
  graph.add_output(graph.add_node("softmax", ir::Softmax{1}, {logits}, "y"));
  return graph;
}

/// The ranges of values for an input.
std::map<ValueId, numerics::ValueRange> ranges_for(const ir::Graph& graph,
                                                   const std::vector<ir::Tensor>& inputs) {
  std::map<ValueId, numerics::ValueRange> ranges;
  for (const ValueId value : values_for_codes(graph, kAll)) {
    ir::Graph part = graph;
    part.set_outputs({value});
    ranges[value].add(ir::test::run_reference(part, inputs)[0].as<float>());
  }
  return ranges;
}

ir::Graph in_codes(ir::Graph graph, const std::vector<ir::Tensor>& inputs, const CodeForm& form) {
  split_activations(graph, kAll);
  const auto ranges = ranges_for(graph, inputs);
  insert_codes(graph, ranges, kAll, form);
  return graph;
}

std::vector<ir::Tensor> images() {
  return ir::test::list(ir::test::random_tensor({3, 6, 6, 3}, 4));
}

TEST(InsertCodes, KeepsTheFunctionWithinTheSteps) {
  for (const CodeForm& form : {kOnnxCodes, kTfliteCodes}) {
    const ir::Graph graph = network();
    const ir::Graph coded = in_codes(graph, images(), form);
    EXPECT_EQ(coded.value(coded.outputs()[0]).name, "y");
    const auto expected = ir::test::run_reference(graph, images());
    const auto found = ir::test::run_reference(coded, images());
    // Softmax has steps of 1/256, and its inputs steps of a 255th of their range, which changes its
    // result by at most a quarter of a few such steps.
    ir::test::expect_near(found, expected, 0.05F);
  }
}

TEST(InsertCodes, LeavesOnlyIntegersBetweenTheEnds) {
  ir::Graph coded = in_codes(network(), images(), kTfliteCodes);
  simplify_to_run(coded);
  const auto names = test::operators(coded);
  EXPECT_EQ(std::ranges::count(names, "DequantizeLinear"), 1);
  EXPECT_EQ(std::ranges::count(names, "Conv"), 2);
  for (const ir::NodeId id : coded.topological_order()) {
    const ir::Node& node = coded.node(id);
    // A Softmax reads codes and computes float32 numbers.
    const bool is_softmax = std::holds_alternative<ir::Softmax>(node.op);
    if (is_softmax || node.output == coded.outputs()[0]) continue;
    EXPECT_FALSE(coded.value(node.output).type.is_dense(ir::ElementType::kFloat32)) << node.name;
  }
}

TEST(InsertCodes, KeepsTheNamesOfInputsAndOutputs) {
  ir::Graph graph = network();
  const ValueId x = graph.inputs()[0];
  graph.add_output(x);
  graph.add_output(graph.add_node("copy", ir::Reshape{graph.value(x).type.shape}, {x}, "the copy"));
  const ir::Graph coded = in_codes(graph, images(), kTfliteCodes);
  EXPECT_EQ(coded.value(coded.inputs()[0]).name, "x");
  std::vector<std::string> names;
  for (const ValueId id : coded.outputs()) names.push_back(coded.value(id).name);
  EXPECT_THAT(names, testing::ElementsAre("y", "x", "the copy"));
}

TEST(InsertCodes, GivesFunctionsWithoutBoundsCodesOfTheirOwn) {
  const ir::Graph graph = network({ActivationKind::kSigmoid});
  const ir::Graph coded = in_codes(graph, images(), kTfliteCodes);
  int functions = 0;
  for (const ir::NodeId id : coded.topological_order()) {
    if (!std::holds_alternative<ir::Unary>(coded.node(id).op)) continue;
    ++functions;
    const auto& reader = coded.node(coded.consumers(coded.node(id).output)[0]);
    const auto& parameters = std::get<ir::QuantizeLinear>(reader.op).parameters;
    EXPECT_EQ(parameters.scales, std::vector{1.0F / 256});
    EXPECT_EQ(parameters.zero_points, std::vector{-128});
  }
  EXPECT_EQ(functions, 1);
  ir::test::expect_near(ir::test::run_reference(coded, images()),
                        ir::test::run_reference(graph, images()), 0.05F);
}

TEST(InsertCodes, ConvertsOperandsOfAConcat) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6, 6, 3}));
  const ValueId a = add_conv(graph, "conv1", x, {});
  const ValueId b = add_conv(graph, "conv2", a, {ActivationKind::kRelu});
  graph.add_output(graph.add_node("joined", ir::Concat{3}, {a, b}, "y"));
  ir::Graph coded = in_codes(graph, images(), kTfliteCodes);
  const auto* end = std::get_if<ir::DequantizeLinear>(&test::output_node(coded).op);
  ASSERT_NE(end, nullptr);
  for (const ir::NodeId id : coded.topological_order()) {
    const ir::Node& node = coded.node(id);
    if (!std::holds_alternative<ir::Concat>(node.op)) continue;
    for (const ValueId input : node.inputs) {
      const auto& op = std::get<ir::DequantizeLinear>(coded.node(*coded.producer(input)).op);
      EXPECT_EQ(op.parameters, end->parameters);
    }
  }
}

TEST(InsertCodes, KeepsUnwantedLayersFloat) {
  ir::Graph graph = network();
  const WantsCodes some = [](const ir::Node& node) { return node.name != "conv2"; };
  std::map<ValueId, numerics::ValueRange> ranges;
  for (const ValueId value : values_for_codes(graph, some)) ranges[value] = {-3, 3};
  insert_codes(graph, ranges, some, kOnnxCodes);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::Conv>(node.op)) continue;
    EXPECT_EQ(graph.constant(node.inputs[1]) != nullptr, node.name == "conv2") << node.name;
  }
}

TEST(InsertCodes, TakesTheCodesOfEncodedWeightsWhateverTheSignsOfTheirScales) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 8}));
  const ir::Tensor values = ir::test::random_tensor({3, 8}, 2);
  const MatrixView<const float> rows(values.as<float>(), 3, 8);
  const auto encoding = std::make_shared<numerics::MatrixEncoding>(numerics::encoding_by_rule(
      numerics::find_system("int_narrow"), 8, {numerics::Granularity::kChannel, 0}, rows));
  const numerics::StoredNumbers& scales = encoding->scales;
  encoding->scales =
      numerics::StoredNumbers::of(std::vector<float>{scales[0], -scales[1], scales[2]});
  const ir::EncodedTensor encoded{{3, 8}, encoding, numerics::encode(rows, *encoding)};
  const std::vector<float> levels = numerics::decode(encoded.codes, *encoding);
  const ValueId w = graph.add_constant("w", encoded);
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w, ir::kAbsent}, "y"));
  std::map<ValueId, numerics::ValueRange> ranges;
  for (const ValueId value : values_for_codes(graph, kAll)) ranges[value] = {-3, 3};
  insert_codes(graph, ranges, kAll, kOnnxCodes);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::FullyConnected>(node.op)) continue;
    ir::Graph part = graph;
    part.set_outputs({node.inputs[1]});
    const auto found = ir::test::run_reference(
        part, ir::test::list(ir::Tensor(ir::ElementType::kFloat32, {1, 8})));
    EXPECT_EQ(ir::test::elements<float>(found[0]), levels);
  }
}

TEST(InsertCodes, WidensScalesWhereABiasIsLarge) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 2}));
  const ValueId w = graph.add_constant("w", ir::test::floats({2, 2}, {0, 0, 1, -1}));
  const ValueId b = graph.add_constant("b", ir::test::floats({2}, {5, -2}));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w, b}, "y"));
  const ir::Graph before = graph;
  std::map<ValueId, numerics::ValueRange> ranges;
  for (const ValueId value : values_for_codes(graph, kAll)) ranges[value] = {-8, 8};
  insert_codes(graph, ranges, kAll, kOnnxCodes);
  ir::test::expect_same_function(graph, before, {.tolerance = 16.0F / 255});
}

}  // namespace
}  // namespace halftone::passes

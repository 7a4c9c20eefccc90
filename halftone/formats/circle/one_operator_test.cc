// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/one_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::circle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::byte> as_one(const ir::Graph& graph) {
  const SharedBytes file = circle_file(graph, CircleFlavor::kTflite, true);
  return {file.bytes.begin(), file.bytes.end()};
}

/// The operator of such a file.
schema::OperatorT& network_of(schema::ModelT& model) {
  for (auto& op : model.subgraphs[0]->operators) {
    if (model.operator_codes[op->opcode_index]->custom_code == kNetworkName) return *op;
  }
  throw std::runtime_error("no such operator");
}

TEST(OneOperator, HasTheBytesOfTheFileAndItsEnds) {
  const ir::Graph graph = small_lowbit_network();
  schema::ModelT model = unpacked(as_one(graph));
  ASSERT_THAT(model.subgraphs[0]->operators, SizeIs(1));
  const auto bytes = export_circle(graph, CircleFlavor::kTflite);
  EXPECT_THAT(std::as_bytes(std::span(network_of(model).custom_options)),
              testing::ElementsAreArray(bytes));
  const auto name = [&](std::int32_t tensor) {
    return model.subgraphs[0]->tensors[static_cast<std::size_t>(tensor)]->name;
  };
  EXPECT_EQ(name(model.subgraphs[0]->inputs.at(0)), graph.value(graph.inputs()[0]).name);
  EXPECT_EQ(name(model.subgraphs[0]->outputs.at(0)), graph.value(graph.outputs()[0]).name);
  EXPECT_THAT(model.signature_defs, SizeIs(1));
}

TEST(OneOperator, ReadsAsTheNetwork) {
  for (const ir::Graph& graph : {small_network(), small_lowbit_network()}) {
    EXPECT_EQ(ir::to_text(import_circle(as_one(graph))),
              ir::to_text(import_circle(export_circle(graph, CircleFlavor::kTflite))));
    expect_same_function(import_circle(as_one(graph)), graph);
    const ir::Graph inputs = circle_inputs(own_bytes(as_one(graph)), {});
    EXPECT_EQ(inputs.value(inputs.inputs()[0]).name, graph.value(graph.inputs()[0]).name);
  }
}

TEST(OneOperator, LeavesStatesToVariables) {
  const ir::Graph graph = ir::test::running_sum();
  schema::ModelT model = unpacked(as_one(graph));
  EXPECT_THAT(network_of(model).inputs, SizeIs(2));
  EXPECT_THAT(network_of(model).outputs, SizeIs(2));
  const auto assign = model.subgraphs[0]->operators.back().get();
  EXPECT_EQ(assign->inputs.at(1), network_of(model).outputs.at(1));
  expect_same_function(import_circle(as_one(graph)), graph);
}

TEST(OneOperator, ComputesOutputsThatAreInputsOrAppearTwice) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  const auto y = graph.add_node("y", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x});
  for (const ir::ValueId id : {x, y, y}) graph.add_output(id);
  schema::ModelT model = unpacked(as_one(graph));
  EXPECT_THAT(network_of(model).inputs, ElementsAre(0));
  EXPECT_THAT(network_of(model).outputs, ElementsAre(1, 2, 3));
  EXPECT_THAT(model.subgraphs[0]->outputs, ElementsAre(1, 2, 3));
}

TEST(OneOperator, IsAloneInItsFileAndHoldsLayers) {
  const auto bytes = as_one(small_network());
  const auto error = [&](const std::function<void(schema::ModelT&)>& edit) {
    const Error found = error_of([&] { import_circle(edited(bytes, edit)); });
    EXPECT_EQ(found.kind(), ErrorKind::kFormat);
    return std::string(found.what());
  };
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  EXPECT_EQ(error([&](schema::ModelT& model) {
              network_of(model).custom_options.assign(first, first + bytes.size());
            }),
            "the network in the operator: expected its layers, found one operator again");
  EXPECT_THAT(
      error([](schema::ModelT& model) { network_of(model).custom_options.resize(4); }),
      HasSubstr("the network in the operator: TFLite or circle: expected at least 8 bytes"));
  EXPECT_EQ(error([](schema::ModelT& model) {
              model.operator_codes.push_back(std::make_unique<schema::OperatorCodeT>());
              model.subgraphs[0]->operators.push_back(std::make_unique<schema::OperatorT>());
              model.subgraphs[0]->operators.back()->opcode_index = 1;
            }),
            "a network as one operator: expected no operators beside it, found ADD");
}

}  // namespace
}  // namespace halftone::formats::circle

// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"

#include <ctime>

#include "halftone/ir/text.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::BinaryKind;
using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using ir::test::float_type;
using ir::test::kRelu;
using testing::ElementsAre;

bool simplified(Graph& graph) { return simplify(graph); }

/// A layer as an ONNX exporter writes it: product, bias, normalization, activation; 5 nodes.
ValueId exported_layer(Graph& graph, ValueId x, ir::Dim outputs, const std::string& name) {
  const ir::Dim inputs = graph.value(x).type.shape.back();
  const auto constant = [&](const char* what, ir::Shape shape) {
    return graph.add_constant(name + what,
                              test::random_tensor(std::move(shape), graph.num_values()));
  };
  ValueId y = graph.add_node(name, ir::MatMul{}, {x, constant(".w", {inputs, outputs})});
  y = graph.add_node(name + "/add", ir::Binary{BinaryKind::kAdd, {}},
                     {y, constant(".b", {outputs})});
  y = graph.add_node(name + "/mul", ir::Binary{BinaryKind::kMul, {}},
                     {y, constant(".s", {1, outputs})});
  y = graph.add_node(name + "/same", ir::Unary{}, {y});
  return graph.add_node(name + "/relu", kRelu, {y});
}

TEST(Simplify, AnExportedNetworkBecomesItsLayers) {
  Graph graph;
  const ValueId image = graph.add_input("image", float_type({kBatch, 1, 4, 4}));
  ValueId y = graph.add_node("nhwc", ir::Transpose{{0, 2, 3, 1}}, {image});
  y = graph.add_node("flat", ir::Reshape{{kBatch, 16}}, {y});
  y = exported_layer(graph, y, 8, "fc1");
  y = exported_layer(graph, y, 3, "fc2");
  graph.add_output(graph.add_node("probabilities", ir::Softmax{1}, {y}));
  EXPECT_TRUE(test::run_checked(graph, simplified));
  EXPECT_THAT(test::operators(graph),
              ElementsAre("Reshape", "FullyConnected", "FullyConnected", "Softmax"));
  EXPECT_FALSE(test::run_checked(graph, simplified));
}

TEST(Simplify, QuantizedWeightsStaySmall) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 3}));
  const ValueId q =
      graph.add_constant("q", test::random_tensor({3, 4}, 5).cast(ir::ElementType::kInt8));
  const ValueId w = graph.add_node("w", ir::DequantizeLinear{{{0.5F}, {0}, 0}}, {q});
  graph.add_output(graph.add_node("relu", kRelu, {graph.add_node("y", ir::MatMul{}, {x, w})}));
  Graph as_float = graph;
  EXPECT_TRUE(test::run_checked(graph, simplified));
  EXPECT_THAT(test::operators(graph), ElementsAre("DequantizeLinear", "FullyConnected"));
  EXPECT_TRUE(
      test::run_checked(as_float, [](Graph& each) { return simplify(each, {.widen = true}); }));
  EXPECT_THAT(test::operators(as_float), ElementsAre("FullyConnected"));
}

TEST(Simplify, OutputsMayBeInputsOrConstants) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 3}));
  graph.add_output(x);
  graph.add_output(graph.add_constant("c", test::random_tensor({3}, 1)));
  graph.add_output(x);
  EXPECT_FALSE(test::run_checked(graph, simplified));
}

TEST(Simplify, RemovesUnusedValues) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 3}));
  graph.add_node("unused", kRelu, {x});
  graph.add_output(x);
  EXPECT_TRUE(test::run_checked(graph, simplified));
  EXPECT_THAT(test::operators(graph), testing::IsEmpty());
}

TEST(Simplify, RejectsInvalidGraphs) {
  Graph graph;
  graph.add_input("x", float_type({kBatch, 3}));
  ir::test::expect_error(ErrorKind::kFormat, "the graph has no outputs", [&] { simplify(graph); });
}

TEST(Simplify, SettlesInOneCallOnRandomGraphs) {
  test::expect_safe_on_random_graphs(simplified);
  for (std::uint64_t seed = 1000; seed < 1030; ++seed) {
    Graph graph = test::random_graph(seed, 40);
    test::run_checked(graph, simplified);
    EXPECT_FALSE(test::run_checked(graph, simplified)) << "seed " << seed;
  }
}

TEST(Simplify, IsTheSameEveryTime) {
  Graph a = test::random_graph(7, 60);
  Graph b = a;
  simplify(a);
  simplify(b);
  EXPECT_EQ(ir::to_text(a), ir::to_text(b));
}

TEST(Simplify, TakesLessThanASecondForAThousandNodes) {
  Graph graph;
  ValueId y = graph.add_input("x", float_type({kBatch, 16}));
  for (int i = 0; i < 200; ++i) y = exported_layer(graph, y, 16, "fc" + std::to_string(i));
  graph.add_output(y);
  ASSERT_EQ(test::operators(graph).size(), 1000u);
  // CPU time of this process, so that other work on the machine does not count.
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(simplify(graph));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0);
  EXPECT_EQ(test::operators(graph).size(), 200u);
}

}  // namespace
}  // namespace halftone::passes

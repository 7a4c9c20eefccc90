// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/graph.h"

#include "halftone/ir/testing.h"
#include "halftone/ir/verify.h"

namespace halftone::ir {
namespace {

using test::expect_error;
using test::float_type;
using test::floats;
using test::kAdd;
using test::kRelu;
using testing::ElementsAre;
using testing::IsEmpty;

/// x -> a -> b, and c = a + b, the output.
struct Diamond {
  Graph graph;
  ValueId x = graph.add_input("x", float_type({kBatch, 4}));
  ValueId a = graph.add_node("a", kRelu, {x});
  ValueId b = graph.add_node("b", kRelu, {a});
  ValueId c = graph.add_node("c", kAdd, {a, b}, "sum");

  Diamond() { graph.add_output(c); }
  [[nodiscard]] NodeId node(ValueId id) const { return *graph.producer(id); }
};

std::vector<std::string> names(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> result;
  for (const NodeId id : nodes) result.push_back(graph.node(id).name);
  return result;
}

TEST(Graph, LinksValuesAndNodes) {
  const Diamond d;
  EXPECT_THAT(d.graph.inputs(), ElementsAre(d.x));
  EXPECT_THAT(d.graph.outputs(), ElementsAre(d.c));
  EXPECT_EQ(d.graph.num_values(), 4u);
  EXPECT_EQ(d.graph.producer(d.x), std::nullopt);
  EXPECT_EQ(d.graph.node(d.node(d.b)).output, d.b);
  EXPECT_EQ(d.graph.value(d.b).name, "b");
  EXPECT_EQ(d.graph.value(d.c).name, "sum");
  EXPECT_EQ(d.graph.value(d.c).type, float_type({kBatch, 4}));
  EXPECT_EQ(describe(d.graph.node(d.node(d.c))), "node 'c' (Add)");
}

TEST(Graph, KnowsTheReadersOfValues) {
  Diamond d;
  EXPECT_THAT(names(d.graph, d.graph.consumers(d.a)), ElementsAre("b", "c"));
  EXPECT_THAT(d.graph.consumers(d.c), IsEmpty());
  EXPECT_EQ(d.graph.num_uses(d.a), 2u);
  EXPECT_EQ(d.graph.num_uses(d.c), 1u);
  d.graph.add_output(d.a);
  EXPECT_EQ(d.graph.num_uses(d.a), 3u);
  const ValueId twice = d.graph.add_node("twice", kAdd, {d.b, d.b});
  EXPECT_THAT(names(d.graph, d.graph.consumers(d.b)), ElementsAre("c", "twice"));
  EXPECT_EQ(d.graph.num_uses(d.b), 3u);
  EXPECT_EQ(d.graph.num_uses(twice), 0u);
}

TEST(Graph, ConstantsAreSharedByCopies) {
  Diamond d;
  const ValueId one = d.graph.add_constant("one", floats({1}, {1}));
  const ValueId weak = d.graph.add_constant("again", d.graph.value(one).constant);
  const Graph copy = d.graph;
  EXPECT_EQ(copy.constant(one), d.graph.constant(one));
  EXPECT_EQ(copy.constant(one), copy.constant(weak));
  EXPECT_EQ(copy.value(one).type, float_type({1}));
  EXPECT_EQ(copy.constant(d.x), nullptr);
  EXPECT_EQ(copy.constant(kAbsent), nullptr);
}

TEST(Graph, OptionalInputsMayBeAbsent) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 2}));
  const ValueId w = graph.add_constant("w", floats({1, 2}, {1, 2}));
  const ValueId y = graph.add_node("y", FullyConnected{}, {x, w, kAbsent});
  graph.add_output(y);
  EXPECT_EQ(graph.value(y).type, float_type({kBatch, 1}));
  EXPECT_EQ(graph.topological_order().size(), 1u);
  EXPECT_EQ(graph.remove_unused_nodes(), 0u);
}

TEST(Graph, ErrorsNameTheNode) {
  Diamond d;
  const ValueId three = d.graph.add_constant("three", floats({3}, {1, 2, 3}));
  expect_error(ErrorKind::kShape, "node 'bad' (Add): shapes [N, 4] and [3] do not broadcast", [&] {
    d.graph.add_node("bad", kAdd, {d.a, three});
  });
  expect_error(ErrorKind::kShape, "node 'c' (Add): shapes", [&] {
    d.graph.replace_node(d.node(d.c), kAdd, {d.a, three});
  });
  EXPECT_THAT(d.graph.node(d.node(d.c)).inputs, ElementsAre(d.a, d.b)) << "a failure left traces";
  EXPECT_EQ(d.graph.num_uses(three), 0u);
  expect_error(ErrorKind::kInternal, "graph: no node 77", [&] { (void)d.graph.node(NodeId{77}); });
}

TEST(Graph, OrdersByDependenceThenAge) {
  Diamond d;
  const ValueId early = d.graph.add_node("early", kRelu, {d.x});
  EXPECT_THAT(names(d.graph, d.graph.topological_order()), ElementsAre("a", "b", "c", "early"));
  d.graph.replace_node(d.node(d.a), kRelu, {early});
  EXPECT_THAT(names(d.graph, d.graph.topological_order()), ElementsAre("early", "a", "b", "c"));
}

TEST(Graph, ReportsANodeOnTheCycle) {
  Diamond d;
  d.graph.replace_node(d.node(d.a), kRelu, {d.a});
  expect_error(ErrorKind::kFormat, "the graph has a cycle through node 'a'",
               [&] { (void)d.graph.topological_order(); });

  // The oldest node that cannot run, a, is not on the cycle of p and q but behind it.
  Diamond e;
  const ValueId p = e.graph.add_node("p", kRelu, {e.x});
  const ValueId q = e.graph.add_node("q", kRelu, {p});
  e.graph.replace_node(e.node(p), kAdd, {e.x, q});
  e.graph.replace_node(e.node(e.a), kRelu, {q});
  expect_error(ErrorKind::kFormat, "the graph has a cycle through node '", [&] {
    try {
      e.graph.infer_all();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  testing::AnyOf(testing::HasSubstr("'p'"), testing::HasSubstr("'q'")));
      throw;
    }
  });
  expect_error(ErrorKind::kFormat, "cycle", [&] { e.graph.remove_unused_nodes(); });
}

TEST(Graph, ReplaceNodeInfersTypesAndUpdatesReaders) {
  Diamond d;
  const ValueId row = d.graph.add_constant("row", floats({3, 1, 1}, {1, 2, 3}));
  d.graph.replace_node(d.node(d.c), kAdd, {d.x, row});
  EXPECT_EQ(d.graph.value(d.c).type, float_type({3, kBatch, 4}));
  EXPECT_EQ(d.graph.num_uses(d.a), 1u);
  EXPECT_EQ(d.graph.num_uses(row), 1u);
  EXPECT_EQ(d.graph.value(d.c).name, "sum");
}

TEST(Graph, ReplaceUsesReachesReadersAndOutputs) {
  Diamond d;
  d.graph.replace_uses(d.a, d.x);
  EXPECT_EQ(d.graph.num_uses(d.a), 0u);
  EXPECT_THAT(d.graph.node(d.node(d.c)).inputs, ElementsAre(d.x, d.b));
  EXPECT_THAT(names(d.graph, d.graph.consumers(d.x)), ElementsAre("a", "b", "c"));
  d.graph.replace_uses(d.c, d.x);
  EXPECT_THAT(d.graph.outputs(), ElementsAre(d.x));
  d.graph.replace_uses(d.x, d.x);
  EXPECT_EQ(d.graph.num_uses(d.x), 4u);
}

TEST(Graph, AbsorbKeepsTheFirstNodeAndTheLastName) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch}));
  const ValueId sum = graph.add_node("sum", kAdd, {x, x});
  const ValueId relu = graph.add_node("relu", kRelu, {sum}, "result");
  graph.add_output(relu);
  const NodeId second = *graph.producer(relu);
  graph.absorb(*graph.producer(sum), second, Binary{BinaryKind::kAdd, kRelu.activation}, {x, x});
  EXPECT_THAT(graph.outputs(), ElementsAre(sum));
  EXPECT_EQ(graph.node(*graph.producer(sum)).name, "sum");
  EXPECT_EQ(graph.value(sum).name, "result");
  EXPECT_FALSE(graph.contains(second));
}

TEST(Graph, InferAllFollowsANewInputType) {
  Diamond d;
  d.graph.set_input_type(d.x, float_type({2, 9}));
  d.graph.infer_all();
  for (const ValueId id : {d.a, d.b, d.c}) EXPECT_EQ(d.graph.value(id).type, float_type({2, 9}));
  d.graph.set_input_type(d.x, dense_type(ElementType::kInt8, {2, 9}));
  expect_error(ErrorKind::kShape, "node 'a' (Relu): input 0: expected float32, found int8[2, 9]",
               [&] { d.graph.infer_all(); });
}

TEST(Graph, RemovesUnusedNodes) {
  Diamond d;
  const ValueId used = d.graph.add_constant("used", floats({4}, {1, 2, 3, 4}));
  const ValueId unused = d.graph.add_constant("unused", floats({1}, {1}));
  const ValueId side = d.graph.add_node("side", kAdd, {d.b, unused});
  const ValueId more = d.graph.add_node("more", kRelu, {side});
  const ValueId idle = d.graph.add_input("idle", float_type({1}));
  d.graph.replace_node(d.node(d.c), kAdd, {d.b, used});
  const NodeId side_node = d.node(side);
  EXPECT_EQ(d.graph.remove_unused_nodes(), 2u);
  EXPECT_EQ(d.graph.remove_unused_nodes(), 0u);
  EXPECT_FALSE(d.graph.contains(side_node));
  EXPECT_EQ(d.graph.producer(more), std::nullopt);
  EXPECT_EQ(d.graph.num_uses(d.b), 1u);
  EXPECT_EQ(d.graph.constant(unused), nullptr);
  EXPECT_NE(d.graph.constant(used), nullptr);
  EXPECT_THAT(d.graph.inputs(), ElementsAre(d.x, idle));
  expect_error(ErrorKind::kInternal, "graph: no node", [&] { (void)d.graph.node(side_node); });
}

TEST(Graph, RemoveNodeRejectsNodesWithReaders) {
  Diamond d;
  expect_error(ErrorKind::kInternal, "node 'b' (Relu) still has readers",
               [&] { d.graph.remove_node(d.node(d.b)); });
  expect_error(ErrorKind::kInternal, "node 'c' (Add) still has readers",
               [&] { d.graph.remove_node(d.node(d.c)); });
  d.graph.replace_uses(d.b, d.a);
  const NodeId b = d.node(d.b);
  d.graph.remove_node(b);
  EXPECT_FALSE(d.graph.contains(b));
  EXPECT_THAT(names(d.graph, d.graph.consumers(d.a)), ElementsAre("c"));
}

TEST(Graph, RenameChangesTheValueOnly) {
  Diamond d;
  d.graph.rename(d.b, "beta");
  EXPECT_EQ(d.graph.value(d.b).name, "beta");
  EXPECT_EQ(d.graph.node(d.node(d.b)).name, "b");
}

TEST(Graph, StatesFollowTheirValues) {
  Graph graph;
  const ValueId h = graph.add_input("h", test::float_type({2}));
  const ValueId same = graph.add_node("same", test::kRelu, {h});
  const ValueId y = graph.add_node("y", test::kRelu, {same});
  graph.tie(h, y);
  EXPECT_THAT(graph.outputs(), ElementsAre(y));
  graph.replace_uses(y, same);
  EXPECT_THAT(graph.states(), ElementsAre(State{h, same}));
  Graph both;
  both.add_input("first", test::float_type({1}));
  both.append(graph);
  ASSERT_EQ(both.states().size(), 1U);
  EXPECT_EQ(both.value(both.states()[0].before).name, "h");
  EXPECT_EQ(both.states()[0].after, both.outputs()[0]);
}

TEST(Graph, OutputsReplaceThoseOfStates) {
  Graph graph;
  const ValueId x = graph.add_input("x", test::float_type({2}));
  const ValueId h = graph.add_input("h", test::float_type({2}));
  const ValueId y = graph.add_node("y", test::kRelu, {x});
  const ValueId z = graph.add_node("z", test::kRelu, {h});
  graph.add_output(y);
  graph.tie(h, z);
  EXPECT_THAT(graph.untied(graph.inputs()), ElementsAre(x));
  EXPECT_THAT(graph.untied(graph.outputs()), ElementsAre(y));
  const ValueId other = graph.add_node("other", test::kRelu, {z});
  graph.replace_outputs({y, other});
  EXPECT_THAT(graph.states(), ElementsAre(State{h, other}));
  graph.set_outputs({y, z});
  EXPECT_THAT(graph.states(), ElementsAre(State{h, kAbsent}));
  EXPECT_TRUE(graph.is_tied(h));
  EXPECT_FALSE(graph.is_tied(z));
  verify(graph);
  graph.untie();
  EXPECT_THAT(graph.untied(graph.inputs()), ElementsAre(x, h));
}

}  // namespace
}  // namespace halftone::ir

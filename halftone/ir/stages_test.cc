// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/text.h"
#include "halftone/ir/verify.h"

namespace halftone::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Adds the count of a list that ends with -1.
ValueId add_count(Graph& graph, ValueId list) {
  const std::int64_t none = 0;
  const ValueId zero =
      graph.add_constant("zero", Tensor::from<std::int64_t>({}, std::span(&none, 1)));
  const ValueId found =
      graph.add_node("found", Binary{BinaryKind::kGreaterOrEqual, {}}, {list, zero});
  const ValueId ones = graph.add_node("ones", Cast{ElementType::kInt64}, {found});
  return graph.add_node("count", Reduce{ReduceKind::kSum, {0}, false}, {ones});
}

/// y = the elements of 2 x that are not zero, plus 1; z = 2 x.
Graph network(Dim extent) {
  Graph graph;
  const ValueId x = graph.add_input("x", test::float_type({extent}));
  const ValueId z = graph.add_node("twice", Binary{BinaryKind::kAdd, {}}, {x, x});
  const ValueId all = graph.add_node("all", NonZero{}, {z});
  const ValueId list = graph.add_node("list", Reshape{{extent}}, {all});
  const std::string symbol = graph.fresh_symbol();
  graph.define(symbol, add_count(graph, list));
  const Slice first{0, 0, 1, static_cast<std::size_t>(dim_of(Extent::symbol(symbol)))};
  const ValueId indices = graph.add_node("indices", first, {list});
  const ValueId chosen = graph.add_node("chosen", Gather{0}, {z, indices});
  const float one = 1;
  const ValueId more = graph.add_constant("one", Tensor::from<float>({}, std::span(&one, 1)));
  graph.add_output(graph.add_node("y", Binary{BinaryKind::kAdd, {}}, {chosen, more}));
  graph.add_output(z);
  return graph;
}

std::vector<std::string> names_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

TEST(Stages, SplitBeforeTheFirstComputedExtent) {
  const Graph graph = network(6);
  verify(graph);
  EXPECT_TRUE(open_extents(graph).empty());
  EXPECT_THAT(to_text(graph), HasSubstr("extent   #0 = count"));
  const Stages stages = split_stages(graph, HandOver::kDense);
  verify(stages.first);
  EXPECT_THAT(names_of(stages.first, stages.first.outputs()),
              ElementsAre("twice", "count", "list"));
  EXPECT_THAT(names_of(stages.rest, stages.rest.inputs()), ElementsAre("twice", "list"));
  EXPECT_EQ(stages.defined.size(), 1U);
  Graph rest = stages.rest;
  fill_in_extents(rest, {{"#0", 2}});
  verify(rest);
  EXPECT_TRUE(rest.definitions().empty());
  EXPECT_EQ(rest.value(rest.outputs()[0]).type, test::float_type({2}));
}

TEST(FittedStages, LeaveTheSearchToTheStageBehindAndJoinAgain) {
  const Graph graph = network(6);
  const std::vector<FittedStage> stages = fitted_stages(graph);
  ASSERT_EQ(stages.size(), 2U);
  const Graph& first = stages[0].graph;
  const Graph& later = stages[1].graph;
  EXPECT_THAT(names_of(first, first.outputs()), ElementsAre("twice"));
  EXPECT_THAT(names_of(later, later.inputs()), ElementsAre("twice"));
  EXPECT_THAT(names_of(later, later.outputs()), ElementsAre("y", "count"));
  EXPECT_THAT(computed_symbols(first), ElementsAre());
  EXPECT_THAT(computed_symbols(later), ElementsAre("#0"));
  EXPECT_EQ(describe_definition(stages[1]), "node 'all' (NonZero)");
  const Graph joined = join_stages({first, later}, stages, graph.outputs());
  verify(joined);
  EXPECT_THAT(names_of(joined, joined.outputs()), ElementsAre("y", "twice"));
  ASSERT_EQ(joined.definitions().size(), 1U);
  std::vector<Tensor> inputs;
  inputs.push_back(test::floats({6}, {1, 0, 2, 0, 3, 0}));
  const std::vector<Tensor> found = evaluate_graph(joined, inputs);
  EXPECT_THAT(found[0].as<float>(), ElementsAre(3, 5, 7));  // 2 x + 1 of those that are not zero
}

/// Adds a loop that doubles [1] as often as an extent says, and has no result of that extent.
ValueId add_doubling(Graph& graph, Dim trips, ValueId first) {
  auto body = std::make_shared<Graph>();
  body->add_input("t", dense_type(ElementType::kInt64, Shape{}));
  const ValueId s = body->add_input("s", test::float_type({1}));
  body->add_output(body->add_node("double", Binary{BinaryKind::kAdd, {}}, {s, s}));
  Tensor yes(ElementType::kBool, Shape{});
  yes.bytes()[0] = std::byte{1};
  const ValueId go = graph.add_constant("go", std::move(yes));
  const Loop loop{.body = body, .trips = trips, .keeps = {true}};
  const ValueId record = graph.add_node("loop", loop, {go, kAbsent, first});
  return graph.add_node("doubled", results_of(loop)[0], {record});
}

TEST(Stages, LeaveALoopOfAComputedNumberOfIterationsToTheRest) {
  Graph graph = network(6);
  const float one = 1;
  const ValueId first = graph.add_constant("first", Tensor::from<float>({1}, std::span(&one, 1)));
  graph.add_output(add_doubling(graph, dim_of(Extent::symbol("#0")), first));
  verify(graph);
  const Stages stages = split_stages(graph, HandOver::kDense);
  EXPECT_THAT(names_of(stages.rest, stages.rest.outputs()), ElementsAre("y", "doubled"));
  std::vector<Tensor> inputs;
  inputs.push_back(test::floats({6}, {1, 0, 2, 0, 3, 0}));
  EXPECT_EQ(evaluate_graph(graph, inputs)[2].as<float>()[0], 8);
}

TEST(AddSymbols, NamesThoseOfLoopsAndSlices) {
  Graph graph;
  const ValueId x = graph.add_input("x", test::float_type({1}));
  const ValueId y = add_doubling(graph, dim_of(Extent::symbol("H") * 2), x);
  const auto symbols_of = [&](ValueId id) {
    std::set<std::string> names;
    add_symbols(graph, graph.node(*graph.producer(id)), names);
    return names;
  };
  EXPECT_THAT(symbols_of(y), ElementsAre());
  EXPECT_THAT(symbols_of(graph.node(*graph.producer(y)).inputs[0]), ElementsAre("H"));
  const ValueId all = graph.add_node("all", BroadcastTo{{kBatch}}, {x});
  EXPECT_THAT(symbols_of(all), ElementsAre(kBatchSymbol));
  const Slice at{0, static_cast<std::size_t>(dim_of(Extent::symbol("W"))), 1, 1};
  const ValueId list = graph.add_node("list", BroadcastTo{{dim_of(Extent::symbol("H"))}}, {x});
  EXPECT_THAT(symbols_of(graph.add_node("one", at, {list})), ElementsAre("W"));
}

TEST(Stages, RefuseStates) {
  Graph graph = network(6);
  const ValueId before = graph.add_input("before", test::float_type({6}));
  graph.tie(before, graph.outputs()[1]);
  expect_error(ErrorKind::kUnsupported,
               "node 'all' (NonZero): extents that depend on data in a network with states",
               [&] { (void)split_stages(graph, HandOver::kDense); });
}

TEST(Definitions, AreCheckedAndFollowTheirValues) {
  Graph graph = network(6);
  const ValueId wrong = graph.outputs()[1];
  Graph twice = graph;
  twice.define("#0", graph.definitions()[0].value);
  expect_error(ErrorKind::kFormat, "an extent is defined twice", [&] { verify(twice); });
  Graph floats = graph;
  floats.undefine("#0");
  floats.define("#0", wrong);
  expect_error(ErrorKind::kFormat, "extent #0: expected a value int64[], found 'twice'",
               [&] { verify(floats); });
  Graph circle = graph;
  const Dim extent = dim_of(Extent::symbol("#1"));
  const std::int64_t number = 1;
  const ValueId one =
      circle.add_constant("n", Tensor::from<std::int64_t>({}, std::span(&number, 1)));
  const ValueId list = circle.add_node("list", BroadcastTo{{extent}}, {one});
  circle.define("#1", circle.add_node("sum", Reduce{ReduceKind::kSum, {0}, false}, {list}));
  expect_error(ErrorKind::kFormat, "the graph has a cycle through node", [&] { verify(circle); });
  Graph side = graph;
  side.append(graph);
  verify(side);
  ASSERT_EQ(side.definitions().size(), 2U);
  EXPECT_EQ(side.definitions()[1].symbol, "#0'");
  EXPECT_EQ(side.value(side.outputs()[0]).type.to_string(), "float32[#0]");
  EXPECT_EQ(side.value(side.outputs()[2]).type.to_string(), "float32[#0']");
  graph.set_outputs({wrong});
  graph.remove_unused_nodes();
  EXPECT_TRUE(graph.definitions().empty());
}

}  // namespace
}  // namespace halftone::ir

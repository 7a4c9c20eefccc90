// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ir/testing/operator_cases.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::floats;

constexpr std::size_t kSequences = 2;
constexpr std::size_t kHeads = 4;
constexpr std::size_t kKeys = 3;
constexpr std::size_t kValues = 70;  // more than a block of channels

struct DeltaGraph {
  ir::Graph graph;
  ir::State state;
};

/// A gated delta rule on rows.
DeltaGraph delta_graph() {
  DeltaGraph result;
  ir::Graph& graph = result.graph;
  const auto add = [&](const char* name, const ir::ValueType& type) {
    return graph.add_input(name, type);
  };
  const auto rows = [](std::size_t width) {
    return ir::test::float_type({ir::kBatch, static_cast<ir::Dim>(width)});
  };
  const ir::ValueType places = ir::dense_type(ir::ElementType::kInt32, {ir::kBatch});
  const std::vector<ir::ValueId> inputs = {
      add("state", ir::test::float_type({kSequences, kHeads, kKeys, kValues})),
      add("slots", places),
      add("positions", places),
      add("q", rows(2 * kKeys)),
      add("k", rows(2 * kKeys)),
      add("v", rows(kHeads * kValues)),
      add("decay", rows(kHeads)),
      add("beta", rows(kHeads))};
  ir::GatedDelta op{2, ir::RecurrenceForm::kRows};
  graph.add_output(graph.add_node("rows", op, inputs));
  op.form = ir::RecurrenceForm::kState;
  result.state = {inputs[0], graph.add_node("state after", op, inputs)};
  graph.tie(result.state.before, result.state.after);
  return result;
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> result(count);
  for (float& number : result) number = static_cast<float>(random.uniform() - 0.5);
  return result;
}

/// Inputs of rows [begin, end) of one long run.
std::vector<ir::Tensor> rows_of(std::size_t begin, std::size_t end) {
  constexpr std::int32_t kSlots[] = {0, 1, 0, 0, 1, 0, 1, 1};
  constexpr std::int32_t kPositions[] = {0, 0, 1, 2, 1, 0, 2, 3};
  const std::size_t count = end - begin;
  const auto part = [&](std::size_t width, std::uint64_t seed) {
    const std::vector<float> all = numbers(8 * width, seed);
    return floats({static_cast<ir::Dim>(count), static_cast<ir::Dim>(width)},
                  {all.begin() + static_cast<std::ptrdiff_t>(begin * width),
                   all.begin() + static_cast<std::ptrdiff_t>(end * width)});
  };
  const auto places = [&](const std::int32_t* values) {
    return ir::Tensor::from<std::int32_t>({static_cast<ir::Dim>(count)}, {values + begin, count});
  };
  std::vector<ir::Tensor> inputs;
  inputs.push_back(places(kSlots));
  inputs.push_back(places(kPositions));
  std::uint64_t seed = 1;
  for (const std::size_t width : {2 * kKeys, 2 * kKeys, kHeads * kValues, kHeads, kHeads}) {
    inputs.push_back(part(width, seed++));
  }
  return inputs;
}

TEST(Recurrence, ChangesItsStateInPlace) {
  const DeltaGraph test = delta_graph();
  EXPECT_TRUE(is_recurrence(test.graph, test.state));
  const auto plan = make_plan(test.graph, {.batch = 2});
  EXPECT_TRUE(plan->states()[0].in_place);
  EXPECT_EQ(plan->steps()[0].kernel, "delta_tokens");
  EXPECT_EQ(plan->steps()[1].kernel, "kept_state");
}

TEST(Recurrence, GivesTheSameBitsHoweverRowsAreDivided) {
  const DeltaGraph test = delta_graph();
  Session whole(make_plan(test.graph, {.batch = 8, .threads = 3}));
  const std::vector<ir::Tensor> all = whole.run(rows_of(0, 8));
  const auto expected = all[0].as<float>();
  const auto states = std::make_shared<StateMemory>(*make_plan(test.graph, {.batch = 1}));
  std::size_t at = 0;
  for (const std::size_t count : {1U, 4U, 1U, 2U}) {
    Session session(make_plan(test.graph, {.batch = count}), states);
    const std::vector<ir::Tensor> found = session.run(rows_of(at, at + count));
    const std::size_t width = kHeads * kValues;
    const auto part = expected.subspan(at * width, count * width);
    EXPECT_TRUE(std::ranges::equal(found[0].as<float>(), part)) << at;
    at += count;
  }
}

/// The definition, on a graph whose state is a plain input and output.
TEST(Recurrence, MatchesItsDefinition) {
  DeltaGraph test = delta_graph();
  Session session(make_plan(test.graph, {.batch = 8}));
  const std::vector<ir::Tensor> found = session.run(rows_of(0, 8));
  test.graph.untie();
  EXPECT_FALSE(
      is_in_recurrence(test.graph, test.graph.node(*test.graph.producer(test.state.after))));
  std::vector<ir::Tensor> inputs;
  inputs.emplace_back(ir::ElementType::kFloat32, ir::Shape{kSequences, kHeads, kKeys, kValues});
  for (ir::Tensor& input : rows_of(0, 8)) inputs.push_back(std::move(input));
  Session plain(make_plan(test.graph, {.batch = 8}));
  const std::vector<ir::Tensor> expected = plain.run(inputs);
  constexpr float kRounding = 8 * 0x1p-23F;  // of eight sums of numbers below 2
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    EXPECT_NEAR(found[0].as<float>()[i], expected[0].as<float>()[i], kRounding);
  }
  const auto kept = session.states()->state(0);
  const std::span<const float> state(reinterpret_cast<const float*>(kept.data()),
                                     expected[1].size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_NEAR(state[i], expected[1].as<float>()[i], kRounding);
  }
}

TEST(Recurrence, RejectsSequencesThatAreNotThere) {
  Session session(make_plan(delta_graph().graph, {.batch = 1}));
  std::vector<ir::Tensor> inputs = rows_of(0, 1);
  inputs[0] = ir::Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{2});
  ir::test::expect_error(ErrorKind::kUsage, "slot: expected 0 to 1, found 2",
                         [&] { session.run(inputs); });
}

}  // namespace
}  // namespace halftone::runtime

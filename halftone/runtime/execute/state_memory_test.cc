// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using ir::test::floats;
using ir::test::running_sum;
using ::testing::ElementsAre;

std::vector<float> numbers(const ir::Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

TEST(StateMemory, KeepsWhatARunLeft) {
  Session session(make_plan(running_sum()));
  EXPECT_EQ(session.plan().inputs().size(), 1U);
  EXPECT_FALSE(session.plan().states()[0].in_place);
  EXPECT_THAT(numbers(session.run(ir::test::list(floats({2}, {1, 2})))[0]), ElementsAre(1, 2));
  EXPECT_THAT(numbers(session.run(ir::test::list(floats({2}, {3, 4})))[0]), ElementsAre(4, 6));
  session.reset();
  EXPECT_THAT(numbers(session.run(ir::test::list(floats({2}, {3, 4})))[0]), ElementsAre(3, 4));
}

TEST(StateMemory, KeepsStatesThatLieInTheCallersMemory) {
  Session session(make_plan(running_sum()));
  for (const float expected : {1.0F, 2.0F, 3.0F}) {
    const std::vector<float> x = {1, 0};
    std::vector<float> y(2);
    const std::span<const std::byte> in = std::as_bytes(std::span(x));
    const std::span<std::byte> out = std::as_writable_bytes(std::span(y));
    session.run(std::span(&in, 1), std::span(&out, 1));
    EXPECT_THAT(y, ElementsAre(expected, 0));
  }
}

/// Two states that become the input and the other state, which are outputs as they were.
TEST(StateMemory, MovesStatesAtOnce) {
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", float_type({1}));
  const ir::ValueId a = graph.add_input("a", float_type({1}));
  const ir::ValueId b = graph.add_input("b", float_type({1}));
  const auto same = [&](const char* name, ir::ValueId value) {
    return graph.add_node(name, ir::Reshape{{1}}, {value});
  };
  graph.add_output(same("old a", a));
  graph.add_output(same("old b", b));
  graph.tie(a, same("new a", x));
  graph.tie(b, same("new b", a));
  Session session(make_plan(graph));
  ASSERT_EQ(session.plan().outputs().size(), 2U);
  constexpr std::array<std::array<float, 3>, 3> kRuns = {{{5, 0, 0}, {6, 5, 0}, {7, 6, 5}}};
  for (const auto& [given, old_a, old_b] : kRuns) {
    const auto found = session.run(ir::test::list(floats({1}, {given})));
    EXPECT_THAT(numbers(found[0]), ElementsAre(old_a));
    EXPECT_THAT(numbers(found[1]), ElementsAre(old_b));
  }
}

TEST(StateMemory, StaysZeroWhereNothingComputesAState) {
  ir::Graph graph = running_sum();
  graph.set_outputs({graph.outputs()[0]});  // "y" without the state
  Session session(make_plan(graph));
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(numbers(session.run(ir::test::list(floats({2}, {1, 2})))[0]), ElementsAre(1, 2));
  }
}

/// Tokens that attend to those before them: q, k and v are rows [N, 8].
ir::Graph attention() {
  ir::Graph graph;
  const auto rows = [&](const char* name) {
    return graph.add_input(name, float_type({ir::kBatch, 8}));
  };
  const auto places = [&](const char* name) {
    return graph.add_input(name, ir::dense_type(ir::ElementType::kInt32, {ir::kBatch}));
  };
  const ir::ValueId x = rows("x");
  const ir::ValueId slots = places("slots");
  const ir::ValueId positions = places("positions");
  const auto append = [&](const std::string& name) {
    const ir::ValueId before = graph.add_input(name, float_type({2, 16, 8}));
    const ir::ValueId after =
        graph.add_node(name + "/append", ir::AppendRows{}, {before, x, slots, positions});
    graph.tie(before, after);
    return after;
  };
  const ir::ValueId keys = append("keys");
  const ir::ValueId values = append("values");
  const ir::ValueId y =
      graph.add_node("attention", ir::Attention{2, 2, 0.5F}, {x, keys, values, slots, positions});
  graph.add_output(y);
  return graph;
}

/// Runs tokens in chunks, each on a session of its size, all on the same states.
class Chunks {
 public:
  /// @return the rows of the tokens, by chunk
  std::vector<float> run(std::span<const float> x, std::span<const std::int32_t> slots,
                         std::span<const std::int32_t> positions) {
    const std::size_t n = slots.size();
    const auto plan = make_plan(attention(), {.batch = n});
    if (states_ == nullptr) states_ = std::make_shared<StateMemory>(*plan);
    Session session(plan, states_);
    for (const PlanState& state : plan->states()) EXPECT_TRUE(state.in_place);
    std::ranges::copy(x, session.input_as<float>(0).begin());
    std::ranges::copy(slots, session.input_as<std::int32_t>(1).begin());
    std::ranges::copy(positions, session.input_as<std::int32_t>(2).begin());
    session.run();
    return numbers(session.output_tensor(0));
  }

 private:
  std::shared_ptr<StateMemory> states_;
};

TEST(StateMemory, IsSharedByPlansOfOneGraph) {
  Random random(3);
  constexpr std::int32_t kTokens = 7;
  const ir::Tensor x = testing::random_tensor({kTokens, 8}, random);
  std::vector<std::int32_t> positions(kTokens);
  for (std::int32_t i = 0; i < kTokens; ++i) positions[static_cast<std::size_t>(i)] = i;
  const std::vector<std::int32_t> slots(kTokens, 1);
  const std::vector<float> whole = Chunks().run(x.as<float>(), slots, positions);
  for (const std::size_t first : {std::size_t{1}, std::size_t{4}}) {
    Chunks chunks;
    std::vector<float> found =
        chunks.run(x.as<float>().first(8 * first), std::span(slots).first(first),
                   std::span(positions).first(first));
    const std::vector<float> rest =
        chunks.run(x.as<float>().subspan(8 * first), std::span(slots).subspan(first),
                   std::span(positions).subspan(first));
    found.insert(found.end(), rest.begin(), rest.end());
    EXPECT_EQ(found, whole);
  }
}

TEST(StateMemory, BelongsToAPlan) {
  const auto states = std::make_shared<StateMemory>(*make_plan(running_sum()));
  expect_error(ErrorKind::kUsage, "states: expected 2 of the sizes of the plan, found 1",
               [&] { Session(make_plan(attention()), states); });
}

}  // namespace
}  // namespace halftone::runtime

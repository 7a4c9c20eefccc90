// SPDX-License-Identifier: Apache-2.0
// Branches that a run leaves out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using ir::test::floats;
using ir::test::list;
using ir::test::tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// y = outer ? tanh(x) : (inner ? relu(x + x) : x[index]), and z = outer ? tanh(x) : x.
struct Branches {
  ir::Graph graph;
  ir::ValueId outer{};
  ir::ValueId inner{};
};

Branches nested_branches() {
  Branches result;
  ir::Graph& graph = result.graph;
  const auto x = graph.add_input("x", float_type({3}));
  const auto index =
      graph.add_input("index", ir::dense_type(ir::ElementType::kInt64, ir::Shape{3}));
  const auto deep = graph.add_node("gather", ir::Gather{0}, {x, index});
  const auto sum = graph.add_node("sum", ir::test::kAdd, {x, x});
  const auto relu = graph.add_node("relu", ir::test::kRelu, {sum});
  const auto tanh = graph.add_node("tanh", ir::test::kTanh, {x});
  const auto flag = [&](const std::string& name) {
    const auto input = graph.add_input(name, ir::dense_type(ir::ElementType::kBool, ir::Shape{1}));
    return graph.add_node(name + "_flag", ir::Reshape{{}}, {input});
  };
  result.inner = flag("inner");
  result.outer = flag("outer");
  const auto branch = graph.add_node("branch", ir::Where{}, {result.inner, relu, deep});
  graph.add_output(graph.add_node("y", ir::Where{}, {result.outer, tanh, branch}));
  graph.add_output(graph.add_node("z", ir::Where{}, {result.outer, tanh, x}));
  return result;
}

std::vector<ir::Tensor> inputs(std::int64_t index, bool inner, bool outer) {
  const auto flag = [](bool value) {
    ir::Tensor result(ir::ElementType::kBool, ir::Shape{1});
    result.bytes()[0] = std::byte{value};
    return result;
  };
  return list(floats({3}, {-1, 0.5F, 2}), tensor<std::int64_t>({3}, {index, 0, 2}), flag(inner),
              flag(outer));
}

const PlanStep& step(const Plan& plan, const std::string& name) {
  return *std::ranges::find(plan.steps(), name, &PlanStep::name);
}

TEST(GuardBranches, StepsThatOneSideNeedsFollowItsConditions) {
  const Branches branches = nested_branches();
  const auto plan = make_plan(branches.graph);
  EXPECT_THAT(step(*plan, "tanh").guards, ElementsAre(Guard{branches.outer, true}));
  EXPECT_THAT(step(*plan, "branch").guards, ElementsAre(Guard{branches.outer, false}));
  EXPECT_THAT(
      step(*plan, "relu").guards,
      ::testing::UnorderedElementsAre(Guard{branches.outer, false}, Guard{branches.inner, true}));
  EXPECT_EQ(step(*plan, "sum").guards, step(*plan, "relu").guards);
  EXPECT_THAT(step(*plan, "gather").reason, HasSubstr("; only where 'inner_flag' is false"));
  EXPECT_THAT(step(*plan, "y").guards, IsEmpty());
  EXPECT_THAT(step(*plan, "outer_flag").guards, IsEmpty());
  const auto position = [&](const std::string& name) { return &step(*plan, name); };
  EXPECT_LT(position("inner_flag"), position("sum"));
  EXPECT_LT(position("outer_flag"), position("tanh"));
}

TEST(GuardBranches, ResultsAreThoseOfTheReference) {
  const Branches branches = nested_branches();
  Session session(make_plan(branches.graph));
  for (const bool outer : {true, false, true}) {
    for (const bool inner : {false, true}) {
      const auto x = inputs(1, inner, outer);
      ir::test::expect_near(session.run(x), ir::test::run_reference(branches.graph, x), 1e-6F);
    }
  }
}

TEST(GuardBranches, ARunLeavesOutWhatItDoesNotNeed) {
  const Branches branches = nested_branches();
  Session session(make_plan(branches.graph));
  // Index 7 of three is an error where it is read.
  EXPECT_NO_THROW(session.run(inputs(7, true, false)));
  EXPECT_NO_THROW(session.run(inputs(7, false, true)));
  halftone::expect_error(ErrorKind::kShape, "7", [&] { session.run(inputs(7, false, false)); });
}

TEST(GuardBranches, ObserversSeeAllSteps) {
  const Branches branches = nested_branches();
  Session session(make_plan(branches.graph));
  std::size_t count = 0;
  session.add_observer([&](const StepEvent& /*event*/) { ++count; });
  session.run(inputs(1, true, true));
  EXPECT_EQ(count, session.plan().steps().size());
}

TEST(GuardBranches, OutputsOfTheGraphAreComputedAlways) {
  Branches branches = nested_branches();
  for (std::size_t v = 0; v < branches.graph.num_values(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    if (branches.graph.value(id).name == "relu") branches.graph.add_output(id);
  }
  const auto plan = make_plan(branches.graph);
  EXPECT_THAT(step(*plan, "relu").guards, IsEmpty());
  EXPECT_THAT(step(*plan, "sum").guards, IsEmpty());
}

}  // namespace
}  // namespace halftone::runtime

// SPDX-License-Identifier: Apache-2.0
// Every operator through the runtime, against its reference implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "halftone/ir/operators_page.h"
#include "halftone/ir/testing/operator_cases.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/planner.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ActivationKind;
using ir::test::CaseGraph;
using ir::test::float_type;
using ir::test::OperatorCase;

class Operators : public ::testing::TestWithParam<OperatorCase> {
 protected:
  /// Runs the case in a batch, with and without constants.
  static void expect_defined(std::size_t batch, FloatOrder order) {
    const OperatorCase& test = GetParam();
    const CaseGraph whole = graph_of(test, {.batch = batch});
    const auto expected = testing::run_reference(whole.graph, whole.inputs);
    for (const bool constants : {false, true}) {
      const CaseGraph graph =
          graph_of(test, {.batch = batch, .symbolic = true, .constants = constants});
      const auto plan =
          make_plan(graph.graph, {.batch = batch, .execution = {.float_order = order}});
      Session session(plan);
      const auto outputs = session.run(graph.inputs);
      testing::expect_near(outputs, expected, tolerance_of(whole), describe(test));
      testing::expect_same_on_callers_memory(session, graph.inputs, outputs);
      if (order == FloatOrder::kFastest) continue;
      for (const auto& step : plan->steps()) {
        EXPECT_EQ(step.kernel.find("onednn"), std::string::npos) << describe(test);
      }
    }
  }
};

TEST_P(Operators, MatchReference) {
  for (const std::size_t batch : {1U, 3U, 16U}) expect_defined(batch, FloatOrder::kFastest);
}

TEST_P(Operators, MatchReferenceInFixedOrderWithoutOneDnn) {
  for (const std::size_t batch : {1U, 3U}) expect_defined(batch, FloatOrder::kFixed);
}

INSTANTIATE_TEST_SUITE_P(All, Operators, ::testing::ValuesIn(ir::test::operator_cases()),
                         [](const auto& test) { return test.param.name; });

/// The kernel that computes a case with constant parameters.
std::string kernel_of_case(const std::string& name) {
  for (const OperatorCase& test : ir::test::operator_cases()) {
    if (test.name != name) continue;
    const CaseGraph graph = graph_of(test, {.symbolic = true, .constants = true});
    return testing::kernel_of(*make_plan(graph.graph, {.batch = 2}));
  }
  return "no case " + name;
}

TEST(Kernels, OfFunctionsAreVectorFunctionsWhereTheyExist) {
  for (const ir::ActivationTraits& traits : ir::activation_table()) {
    if (traits.kind == ActivationKind::kNot) continue;  // takes no floats
    const std::string kernel = kernel_of_case("Unary" + std::string(traits.name));
    if (has_vector_function({traits.kind, 0.25F, 0.75F})) {
      EXPECT_EQ(kernel, "vector_f32") << traits.name;
    } else {
      EXPECT_EQ(kernel, traits.is_predicate ? "reference" : "plain_f32") << traits.name;
    }
  }
}

TEST(Kernels, AreThoseOfTheirFamily) {
  for (const ir::BinaryTraits& traits : ir::binary_table()) {
    if (traits.value == nullptr || traits.compares) continue;
    const std::string name(traits.name);
    for (const char* shapes : {"Alike", "Row", "RowLeft", "Matrix", "Number", "NumberLeft",
                               "Column", "Outer", "Planes"}) {
      EXPECT_EQ(kernel_of_case(name + shapes), "rows_f32") << name << shapes;
    }
  }
  const std::pair<const char*, std::string> expected[] = {
      {"AddTanh", "rows_f32"},
      {"AddNumbers", "rows_f32"},
      {"MatMulPlain", testing::float_kernel()},
      {"MatMulTransposedA", testing::float_kernel()},
      {"MatMulBroadcastBoth", testing::float_kernel()},
      {"MatMulVectors", testing::float_kernel()},
      {"MatMulEmpty", "reference"},
      {"MatMulManyAxes", "fixed_order_f32"},
      {"Softmax", "vector_f32"},
      {"SoftmaxDeep", "vector_f32"},
      {"SoftmaxMiddle", "reference"},
      {"SoftmaxLog", "reference"},
      {"Reshape", "alias"},
      {"ReshapeIntegers", "alias"},
      {"Transpose", "strided_copy"},
      {"Concat", "strided_copy"},
      {"Slice", "strided_copy"},
      {"SliceOfNothing", "strided_copy"},
      {"CastToIntegers", "reference"},
      {"CastToNumbers", "reference"},
      {"QuantizeLinear", "codes"},
      {"QuantizeLinearAxis", "reference"},
      {"DequantizeLinear", "numbers"},
      {"DequantizeLinearAxis", "reference"},
      {"Encode", "bit_planes"},
  };
  for (const auto& [name, kernel] : expected) EXPECT_EQ(kernel_of_case(name), kernel) << name;
}

/// Bits of codes and ranks of values that the table of cases does not have.
TEST(Encode, WritesEveryNumberOfBits) {
  Random random(9);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const ir::Shape& shape :
         {ir::Shape{ir::kBatch, 70}, ir::Shape{ir::kBatch, 2, 3, 64}, ir::Shape{65}}) {
      ir::Graph graph;
      const ir::ValueId x = graph.add_input("x", float_type(shape));
      const ir::Encode encode{testing::activation_encoding(bits, bits % 2 == 0, random)};
      graph.add_output(graph.add_node("node", encode, {x}));
      for (const FloatOrder order : {FloatOrder::kFastest, FloatOrder::kFixed}) {
        const PlanSettings options{.batch = 3, .execution = {.float_order = order}};
        const auto plan = testing::expect_reference_result(graph, options, 0);
        EXPECT_EQ(testing::kernel_of(*plan), "bit_planes");
      }
    }
  }
}

TEST(Unary, OfManyNumbersIsTheSameOnAnyNumberOfThreads) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 70001}));
  graph.add_output(graph.add_node("gelu", ir::Unary{{ActivationKind::kGelu}}, {x}));
  Random random(8);
  const auto inputs = ir::test::list(testing::random_tensor({2, 70001}, random));
  const auto expected = Session(make_plan(graph, {.batch = 2, .threads = 1})).run(inputs);
  for (const int threads : {2, 3}) {
    Session session(make_plan(graph, {.batch = 2, .threads = threads}));
    EXPECT_TRUE(testing::same_bytes(session.run(inputs), expected)) << threads;
  }
}

TEST(RuntimeOperatorsPage, NamesOperatorsWithAKernel) {
  ir::test::expect_operator_column("kernel", [](const ir::Operator& op) {
    return std::ranges::any_of(implementations(op), [](const Implementation* implementation) {
      return implementation != &kReference;
    });
  });
}

}  // namespace
}  // namespace halftone::runtime

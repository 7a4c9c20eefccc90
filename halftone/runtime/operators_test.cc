// SPDX-License-Identifier: Apache-2.0
// All other operators through the runtime, compared with the reference implementation.
#include <gtest/gtest.h>

#include <string>

#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ActivationKind;
using ir::ElementType;
using ir::Shape;
using ir::test::float_type;

/// One node with inputs of these types; the last ones may be constant.
struct OperatorCase {
  std::string name;
  ir::Operator op;
  std::vector<ir::ValueType> inputs;
  std::string kernel;
  std::size_t constants = 0;
  float tolerance = 0;
};

ir::Graph graph_of(const OperatorCase& test) {
  Random random(23);
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    if (i + test.constants >= test.inputs.size()) {
      inputs.push_back(
          graph.add_constant(name, testing::random_tensor(test.inputs[i].shape, random)));
    } else {
      inputs.push_back(graph.add_input(name, test.inputs[i]));
    }
  }
  graph.add_output(graph.add_node("node", test.op, inputs));
  return graph;
}

class Operators : public ::testing::TestWithParam<OperatorCase> {};

TEST_P(Operators, MatchReference) {
  const OperatorCase& test = GetParam();
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}, std::size_t{16}}) {
    const auto plan =
        testing::expect_defined_result(graph_of(test), {.batch = batch}, test.tolerance, batch);
    ASSERT_EQ(plan->steps().size(), 1U);
    EXPECT_EQ(plan->steps()[0].kernel, test.kernel);
    EXPECT_EQ(plan->steps()[0].op, ir::name_of(test.op));
  }
}

TEST_P(Operators, MatchReferenceInFixedOrderWithoutOneDnn) {
  const OperatorCase& test = GetParam();
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}}) {
    const PlanOptions fixed{.batch = batch, .float_order = FloatOrder::kFixed};
    const auto plan = testing::expect_defined_result(graph_of(test), fixed, test.tolerance, batch);
    EXPECT_EQ(plan->steps()[0].kernel.find("onednn"), std::string::npos);
  }
}

std::string case_name(const ::testing::TestParamInfo<OperatorCase>& info) {
  return info.param.name;
}

std::vector<OperatorCase> unary_cases() {
  std::vector<OperatorCase> cases;
  const auto kernel_of = [](ActivationKind kind) -> std::string {
    switch (kind) {
      case ActivationKind::kIdentity:
      case ActivationKind::kRelu:
      case ActivationKind::kReluN1To1:
      case ActivationKind::kRelu6:
      case ActivationKind::kClip:
      case ActivationKind::kLeakyRelu:
      case ActivationKind::kTanh:
      case ActivationKind::kSigmoid:
      case ActivationKind::kExp:
      case ActivationKind::kElu:
      case ActivationKind::kSelu:
      case ActivationKind::kHardSigmoid:
      case ActivationKind::kHardSwish:
      case ActivationKind::kSilu:
      case ActivationKind::kGelu:
      case ActivationKind::kGeluTanh:
      case ActivationKind::kSoftplus:
      case ActivationKind::kErf:
        return "vector_f32";
      case ActivationKind::kSqrt:
      case ActivationKind::kAbs:
      case ActivationKind::kNeg:
      case ActivationKind::kSquare:
        return "onednn_f32";
      case ActivationKind::kNot:
      case ActivationKind::kIsNan:
      case ActivationKind::kIsInf:
        return "reference";
      default:
        return "plain_f32";
    }
  };
  for (int kind = 0; kind <= static_cast<int>(ActivationKind::kIsInf); ++kind) {
    if (kind == static_cast<int>(ActivationKind::kNot)) continue;  // takes no floats
    const ir::Activation activation{static_cast<ActivationKind>(kind), 0.25F, 0.75F};
    cases.push_back({"Unary" + std::string(ir::to_string(activation.kind)),
                     ir::Unary{activation},
                     {float_type({ir::kBatch, 3, 35})},
                     kernel_of(activation.kind),
                     0,
                     2e-5F});
  }
  return cases;
}

std::vector<OperatorCase> binary_cases() {
  std::vector<OperatorCase> cases;
  const auto add = [&](const std::string& name, ir::BinaryKind kind, Shape a, Shape b,
                       const std::string& kernel, std::size_t constants = 0,
                       ActivationKind activation = ActivationKind::kIdentity) {
    cases.push_back({std::string(ir::to_string(kind)) + name,
                     ir::Binary{kind, {activation}},
                     {float_type(std::move(a)), float_type(std::move(b))},
                     kernel,
                     constants,
                     1e-6F});
  };
  const auto n = ir::kBatch;
  for (int kind = 0; kind <= static_cast<int>(ir::BinaryKind::kPRelu); ++kind) {
    const auto each = static_cast<ir::BinaryKind>(kind);
    add("Equal", each, {n, 5, 7}, {n, 5, 7}, "rows_f32");
    add("Row", each, {n, 5, 7}, {7}, "rows_f32", 1);
    add("RowLeft", each, {1, 7}, {n, 5, 7}, "rows_f32");
    add("Matrix", each, {n, 5, 7}, {1, 5, 7}, "rows_f32", 1);
    add("Number", each, {n, 5, 7}, {1}, "rows_f32", 1);
    add("NumberLeft", each, Shape{}, {n, 5, 7}, "rows_f32");
    add("Column", each, {n, 5, 7}, {5, 1}, "rows_f32", 1);
    add("Outer", each, {5, 1}, {7}, "rows_f32");
    add("Planes", each, {n, 1, 5, 3, 7}, {4, 1, 3, 1}, "rows_f32");
  }
  add("Tanh", ir::BinaryKind::kAdd, {n, 7}, {7}, "rows_f32", 1, ActivationKind::kTanh);
  add("Numbers", ir::BinaryKind::kAdd, Shape{}, Shape{1}, "rows_f32");
  return cases;
}

std::vector<OperatorCase> matmul_cases() {
  std::vector<OperatorCase> cases;
  const auto add = [&](const std::string& name, const ir::MatMul& op, Shape a, Shape b,
                       const std::string& kernel = "onednn_f32") {
    for (const std::size_t constants : {std::size_t{0}, std::size_t{1}}) {
      cases.push_back({"MatMul" + name + (constants != 0 ? "Constant" : ""),
                       op,
                       {float_type(a), float_type(b)},
                       kernel,
                       constants,
                       2e-5F});
    }
  };
  const auto n = ir::kBatch;
  add("Plain", {}, {n, 33}, {33, 17});
  add("TransposedB", {false, true}, {n, 33}, {17, 33});
  add("TransposedA", {true, false}, {33, n}, {33, 17});
  add("BothTransposed", {true, true}, {33, n}, {17, 33});
  add("Batched", {}, {n, 4, 9, 8}, {1, 4, 8, 5});
  add("BatchedOneMatrix", {}, {n, 9, 8}, {8, 5});
  add("BroadcastLeft", {false, true}, {9, 8}, {3, 5, 8});
  add("BroadcastBoth", {}, {n, 1, 9, 8}, {4, 8, 5});
  add("VectorLeft", {}, {33}, {33, 17});
  add("VectorRight", {}, {n, 33}, {33});
  add("Vectors", {}, {33}, {33});
  add("VectorBatched", {}, {33}, {2, 33, 17});
  add("Empty", {}, {n, 0}, {0, 4}, "reference");
  add("ManyAxes", {}, {1, 1, 1, 1, 1, n, 4}, {4, 3}, "reference");
  return cases;
}

std::vector<OperatorCase> layout_and_other_cases() {
  const auto n = ir::kBatch;
  const ir::AffineParameters one{{0.25F}, {3}, 0};
  const ir::AffineParameters many{{0.25F, 0.5F, 1}, {3, 0, -2}, 1};
  const auto integers = ir::dense_type(ElementType::kInt8, {n, 3, 4});
  return {
      {"Softmax", ir::Softmax{1}, {float_type({n, 10})}, "vector_f32", 0, 1e-6F},
      {"SoftmaxDeep", ir::Softmax{2}, {float_type({n, 4, 33})}, "vector_f32", 0, 1e-6F},
      {"SoftmaxMiddle", ir::Softmax{1}, {float_type({n, 4, 33})}, "reference"},
      {"SoftmaxLog", ir::Softmax{1, 1, true}, {float_type({n, 10})}, "reference"},
      {"SoftmaxBeta", ir::Softmax{1, 2}, {float_type({n, 10})}, "reference"},
      {"Reshape", ir::Reshape{{n, 12}}, {float_type({n, 3, 4})}, "alias"},
      {"ReshapeIntegers", ir::Reshape{{n, 4, 3}}, {integers}, "alias"},
      {"Transpose", ir::Transpose{{2, 0, 1}}, {float_type({n, 3, 4})}, "strided_copy"},
      {"Concat", ir::Concat{1}, {float_type({n, 3}), float_type({n, 5})}, "strided_copy"},
      {"Slice", ir::Slice{1, 1, 2, 3}, {float_type({n, 7})}, "strided_copy"},
      {"SliceOfNothing", ir::Slice{1, 0, 1, 0}, {float_type({n, 7})}, "strided_copy"},
      {"CastToIntegers", ir::Cast{ElementType::kInt32}, {float_type({n, 7})}, "reference"},
      {"CastToFloats", ir::Cast{ElementType::kFloat32}, {integers}, "reference"},
      {"QuantizeLinear",
       ir::QuantizeLinear{one, ElementType::kInt8},
       {float_type({n, 9})},
       "codes"},
      {"QuantizeLinearAxis",
       ir::QuantizeLinear{many, ElementType::kUint8},
       {float_type({n, 3, 4})},
       "reference"},
      {"DequantizeLinear", ir::DequantizeLinear{one}, {integers}, "numbers"},
      {"DequantizeLinearAxis", ir::DequantizeLinear{many}, {integers}, "reference"},
  };
}

std::vector<OperatorCase> encode_cases() {
  std::vector<OperatorCase> cases;
  Random random(9);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const Shape& shape : {Shape{ir::kBatch, 70}, Shape{ir::kBatch, 2, 3, 64}, Shape{65}}) {
      cases.push_back({"Encode" + std::to_string(bits) + "Rank" + std::to_string(shape.rank()),
                       ir::Encode{testing::activation_encoding(bits, bits % 2 == 0, random)},
                       {float_type(shape)},
                       "bit_planes"});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Unary, Operators, ::testing::ValuesIn(unary_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Binary, Operators, ::testing::ValuesIn(binary_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(MatMul, Operators, ::testing::ValuesIn(matmul_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Others, Operators, ::testing::ValuesIn(layout_and_other_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Encode, Operators, ::testing::ValuesIn(encode_cases()), case_name);

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

}  // namespace
}  // namespace halftone::runtime

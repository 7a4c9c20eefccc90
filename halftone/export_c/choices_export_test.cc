// SPDX-License-Identifier: Apache-2.0
// Comparisons, choices and conversions as C, beside the runtime.
#include <algorithm>
#include <limits>
#include <vector>

#include "halftone/export_c/testing.h"

namespace halftone::export_c {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::ValueId;

class ChoicesExport : public testing::WithPrograms {
 protected:
  ValueId input(const std::string& name, ElementType element) {
    return graph_.add_input(name, ir::dense_type(element, {1, 4, 6}));
  }
  template <typename T>
  ValueId constant(const std::string& name, const std::vector<T>& numbers) {
    ir::Tensor tensor(ir::ElementTypeOf<T>::value, {static_cast<ir::Dim>(numbers.size())});
    std::ranges::copy(numbers, tensor.template as<T>().begin());
    return graph_.add_constant(name, std::move(tensor));
  }
  ValueId node(ir::Operator op, std::vector<ValueId> inputs) {
    const std::string name = "n" + std::to_string(count_++);
    return graph_.add_node(name, std::move(op), std::move(inputs));
  }
  void show(ir::Operator op, std::vector<ValueId> inputs) {
    graph_.add_output(node(std::move(op), std::move(inputs)));
  }

  ir::Graph graph_;
  int count_ = 0;
};

TEST_F(ChoicesExport, OfBooleansThatTheProgramComputes) {
  const ValueId x = input("x", ElementType::kFloat32);
  const ValueId b = input("b", ElementType::kBool);
  const ValueId row = constant<float>("row", {-0.5F, 0, 0.25F, 0.5F, -0.0F, 0.75F});
  const ValueId low = node(ir::Binary{BinaryKind::kLess, {}}, {x, row});
  const ValueId both = node(ir::Binary{BinaryKind::kAnd, {}}, {low, b});
  show(ir::Where{}, {both, x, row});
  show(ir::Where{}, {low, row, x});
  show(ir::Unary{{ir::ActivationKind::kNot}}, {both});
  const ValueId zeros = node(ir::Binary{BinaryKind::kSub, {}}, {x, x});
  show(ir::Unary{{ir::ActivationKind::kIsNan}},
       {node(ir::Binary{BinaryKind::kDiv, {}}, {x, zeros})});
  const ValueId nans = node(ir::Binary{BinaryKind::kDiv, {}}, {zeros, zeros});
  show(ir::Unary{{ir::ActivationKind::kIsNan}}, {nans});
  for (const BinaryKind kind : {BinaryKind::kEqual, BinaryKind::kLessOrEqual,
                                BinaryKind::kGreaterOrEqual, BinaryKind::kGreater}) {
    show(ir::Binary{kind, {}}, {nans, x});
    show(ir::Binary{kind, {}}, {x, x});
  }
  const ValueId wide = input("wide", ElementType::kInt64);
  show(ir::Binary{BinaryKind::kEqual, {}}, {wide, wide});
  show(ir::Binary{BinaryKind::kLess, {}}, {wide, constant<std::int64_t>("many", {30000})});
  const ValueId small = input("small", ElementType::kInt8);
  const ValueId column = node(ir::Slice{2, 1, 1, 1}, {small});
  for (const BinaryKind kind : {BinaryKind::kEqual, BinaryKind::kLessOrEqual,
                                BinaryKind::kGreaterOrEqual, BinaryKind::kGreater}) {
    show(ir::Binary{kind, {}}, {small, column});
  }
  show(ir::Where{}, {b, wide, constant<std::int64_t>("one", {std::int64_t{1} << 40})});
  show(ir::Where{}, {b, input("i", ElementType::kInt32), constant<std::int32_t>("two", {-2})});
  show(ir::Where{}, {b, input("q", ElementType::kInt8), constant<std::int8_t>("three", {3})});
  expect_runs(graph_);
  expect_runs(export_network(graph_, {.pointers = true}));
}

TEST_F(ChoicesExport, ConversionsSaturate) {
  const ValueId x = input("x", ElementType::kFloat32);
  const ValueId large = node(
      ir::Binary{BinaryKind::kMul, {}},
      {x,
       constant<float>("scale", {1, 1e4F, 0x1p33F, 0x1p65F, std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()})});
  for (const ElementType to : {ElementType::kInt32, ElementType::kInt64, ElementType::kBool}) {
    show(ir::Cast{to}, {large});
  }
  const ElementType integers[] = {ElementType::kBool, ElementType::kInt8, ElementType::kUint8,
                                  ElementType::kInt32, ElementType::kInt64};
  for (const ElementType from : integers) {
    const ValueId value = input(std::string(to_string(from)), from);
    for (const ElementType to :
         {ElementType::kFloat32, ElementType::kBool, ElementType::kInt32, ElementType::kInt64}) {
      show(ir::Cast{to}, {value});
    }
  }
  const ValueId wide = node(ir::Cast{ElementType::kInt64}, {large});
  show(ir::Cast{ElementType::kInt32}, {wide});
  show(ir::Cast{ElementType::kFloat32}, {wide});
  expect_runs(graph_);
  show(ir::Cast{ElementType::kInt8}, {x});
  expect_error(ErrorKind::kUnsupported, "C has no kernel for conversions of float32 to int8",
               [&] { export_network(graph_, {}); });
}

TEST_F(ChoicesExport, RefusesConstantsOfOtherTypes) {
  const ValueId b = input("b", ElementType::kBool);
  const ValueId seven = constant<std::int16_t>("seven", {7});
  show(ir::Where{}, {b, seven, seven});
  expect_error(ErrorKind::kUnsupported, "C has no kernel for a constant of int16",
               [&] { export_network(graph_, {}); });
}

}  // namespace
}  // namespace halftone::export_c

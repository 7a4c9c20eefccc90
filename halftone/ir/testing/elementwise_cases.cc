// SPDX-License-Identifier: Apache-2.0
// Functions of single elements: every kind of activation and of Binary.
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

/// Where a function is defined.
Domain domain_of(ActivationKind kind) {
  using Kind = ActivationKind;
  if (kind == Kind::kLog || kind == Kind::kSqrt || kind == Kind::kReciprocal) {
    return Domain::kPositive;
  }
  const bool is_inverse = kind == Kind::kAsin || kind == Kind::kAcos || kind == Kind::kAtanh;
  if (is_inverse || kind == Kind::kTan) return Domain::kSmall;
  return kind == Kind::kAcosh ? Domain::kAboveOne : Domain::kAnywhere;
}

std::vector<OperatorCase> unary_cases() {
  std::vector<OperatorCase> cases;
  for (const ActivationTraits& traits : activation_table()) {
    const Unary op{{traits.kind, 0.25F, 0.75F}};
    const std::string name = "Unary" + std::string(traits.name);
    if (traits.kind != ActivationKind::kNot) {
      cases.push_back({name, op, {numbers_input({kBatch, 35}, domain_of(traits.kind))}});
    }
    if (!traits.takes_integers) continue;
    for (const ElementType element : {ElementType::kInt8, ElementType::kInt32}) {
      cases.push_back(
          {name + std::string(to_string(element)), op, {integers_input(element, {kBatch, 7})}});
    }
  }
  cases.push_back({"UnaryNotbool",
                   Unary{{ActivationKind::kNot}},
                   {integers_input(ElementType::kBool, {kBatch, 7})}});
  cases.push_back(
      {"UnaryCeluNegative", Unary{{ActivationKind::kCelu, -0.7F}}, {numbers_input({kBatch, 7})}});
  return cases;
}

/// A kind with each way of broadcasting.
std::vector<OperatorCase> broadcast_cases(BinaryKind kind) {
  std::vector<OperatorCase> cases;
  const Domain domain =
      kind == BinaryKind::kPow || kind == BinaryKind::kDiv ? Domain::kPositive : Domain::kAnywhere;
  const auto add = [&](const std::string& name, Shape a, Shape b) {
    cases.push_back({std::string(to_string(kind)) + name,
                     Binary{kind, {}},
                     {numbers_input(std::move(a), domain), numbers_input(std::move(b), domain)}});
  };
  add("Alike", {kBatch, 3, 5}, {kBatch, 3, 5});
  add("Row", {kBatch, 3, 5}, {5});
  add("RowLeft", {1, 7}, {kBatch, 2, 7});
  add("Matrix", {kBatch, 3, 5}, {1, 3, 5});
  add("Number", {kBatch, 3, 5}, {1});
  add("NumberLeft", Shape{}, {kBatch, 3, 5});
  add("Column", {kBatch, 3, 5}, {3, 1});
  add("Outer", {5, 1}, {7});
  add("Planes", {kBatch, 1, 3, 2, 5}, {4, 1, 2, 1});
  return cases;
}

std::vector<OperatorCase> binary_cases() {
  std::vector<OperatorCase> cases;
  for (const BinaryTraits& traits : binary_table()) {
    const BinaryKind kind = traits.kind;
    if (traits.value != nullptr) {
      const auto floats = broadcast_cases(kind);
      cases.insert(cases.end(), floats.begin(), floats.end());
    }
    for (const ElementType element : {ElementType::kInt32, ElementType::kUint8}) {
      cases.push_back({std::string(to_string(kind)) + std::string(to_string(element)),
                       Binary{kind, {}},
                       {integers_input(element, {kBatch, 3, 5}), integers_input(element, {3, 1})}});
    }
  }
  for (const BinaryKind kind : {BinaryKind::kAnd, BinaryKind::kOr, BinaryKind::kXor}) {
    const CaseInput truths = integers_input(ElementType::kBool, {kBatch, 5});
    cases.push_back({std::string(to_string(kind)) + "bool", Binary{kind, {}}, {truths, truths}});
  }
  cases.push_back({"AddTanh",
                   Binary{BinaryKind::kAdd, {ActivationKind::kTanh}},
                   {numbers_input({kBatch, 3, 4}), numbers_input({3, 1})}});
  cases.push_back(
      {"AddNumbers", Binary{BinaryKind::kAdd, {}}, {numbers_input(Shape{}), numbers_input({1})}});
  return cases;
}

}  // namespace

std::vector<OperatorCase> elementwise_cases() {
  std::vector<OperatorCase> cases = {
      {"Where",
       Where{},
       {integers_input(ElementType::kBool, {2, 1}, {1, 0}), numbers_input({kBatch, 2, 3}),
        numbers_input(Shape{})}},
      {"WhereIntegers",
       Where{},
       {integers_input(ElementType::kBool, {kBatch, 3}),
        integers_input(ElementType::kInt64, {kBatch, 3}),
        integers_input(ElementType::kInt64, {3})}},
      {"CastToIntegers", Cast{ElementType::kInt32}, {numbers_input({kBatch, 7})}},
      {"CastToNumbers",
       Cast{ElementType::kFloat32},
       {integers_input(ElementType::kInt8, {kBatch, 7})}},
      {"CastToTheSame", Cast{ElementType::kFloat32}, {numbers_input({kBatch, 7})}},
  };
  for (const auto& family : {unary_cases(), binary_cases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

}  // namespace halftone::ir::test

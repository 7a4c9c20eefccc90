// SPDX-License-Identifier: Apache-2.0
// Comparisons, booleans, choices by them, and conversions of numbers.
#include <algorithm>
#include <iterator>

#include "halftone/export_c/broadcast.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/elementwise.h"

namespace halftone::export_c {
namespace {

using ir::ElementType;

struct NamedKind {
  ir::BinaryKind kind;
  const char* name;
};

constexpr NamedKind kComparisons[] = {
    {ir::BinaryKind::kEqual, "HT_EQUAL"},
    {ir::BinaryKind::kLess, "HT_LESS"},
    {ir::BinaryKind::kLessOrEqual, "HT_LESS_OR_EQUAL"},
    {ir::BinaryKind::kGreater, "HT_GREATER"},
    {ir::BinaryKind::kGreaterOrEqual, "HT_GREATER_OR_EQUAL"},
};
constexpr NamedKind kLogical[] = {
    {ir::BinaryKind::kAnd, "HT_AND"},
    {ir::BinaryKind::kOr, "HT_OR"},
    {ir::BinaryKind::kXor, "HT_XOR"},
};

/// Null for another kind.
template <std::size_t n>
const char* name_of(const NamedKind (&kinds)[n], ir::BinaryKind kind) {
  const auto* const found = std::ranges::find(kinds, kind, &NamedKind::kind);
  return found == std::end(kinds) ? nullptr : found->name;
}

/// A function of two operands, both of one type.
bool write_pair_of(Scope& scope, ElementType element, const std::string& kernel, const char* kind) {
  if (kind == nullptr || !scope.input(0).is_dense(element)) return false;
  const OperandAxes axes = operand_axes(scope);
  const std::string a = operand(scope, 0, "a");
  const std::string b = operand(scope, 1, "b");
  scope.writes("y");
  add_axes(scope, axes, {"a", "b"});
  scope.call(kernel, arguments(a, "a_steps", b, "b_steps", "extents", kind, "y"));
  return true;
}

bool is_signed_integer(const ir::ValueType& type) {
  return type.is_dense(ElementType::kInt8) || type.is_dense(ElementType::kInt32) ||
         type.is_dense(ElementType::kInt64);
}

/// A comparison of integers.
bool write_integer_pair(Scope& scope, const char* kind) {
  if (kind == nullptr || !is_signed_integer(scope.input(0))) return false;
  const OperandAxes axes = operand_axes(scope);
  const std::string a = operand(scope, 0, "a");
  const std::string b = operand(scope, 1, "b");
  scope.writes("y");
  add_axes(scope, axes, {"a", "b"});
  scope.call("compare_i64", arguments(a, "a_steps", b, "b_steps", "extents", kind,
                                      ir::size_bytes(scope.input(0).encoding.element), "y"));
  return true;
}

bool write_predicate(Scope& scope, const ir::Unary& op) {
  const bool is_not = op.activation.kind == ir::ActivationKind::kNot;
  const bool is_nan = op.activation.kind == ir::ActivationKind::kIsNan;
  if ((!is_not && !is_nan) || scope.constant(0) != nullptr) return false;
  const ElementType element = is_not ? ElementType::kBool : ElementType::kFloat32;
  if (!scope.input(0).is_dense(element)) return false;
  scope.reads("x", 0);
  scope.writes("y");
  scope.call(is_not ? "not_u8" : "is_nan_f32",
             arguments("x", scope.output().shape.element_count(), "y"));
  return true;
}

void write_where(Scope& scope) {
  const OperandAxes axes = operand_axes(scope);
  const std::string c = operand(scope, 0, "c");
  const std::string a = operand(scope, 1, "a");
  const std::string b = operand(scope, 2, "b");
  scope.writes("y");
  add_axes(scope, axes, {"c", "a", "b"});
  scope.call("choose", arguments(c, "c_steps", a, "a_steps", b, "b_steps", "extents", "y",
                                 ir::size_bytes(scope.output().encoding.element)));
}

/// The expression of x[i] as another type; empty if C has none.
std::string converted(Scope& scope, ElementType from, ElementType to) {
  const bool is_wide = to == ElementType::kInt32 || to == ElementType::kInt64;
  if (from == to) return "x[i]";
  if (to == ElementType::kBool) return "x[i] != 0";
  if (to == ElementType::kFloat32) return "(float)x[i]";
  if (!is_wide) return "";
  const std::string bits = to == ElementType::kInt32 ? "32" : "64";
  if (from == ElementType::kFloat32) {
    scope.needs("whole_" + bits + "_f32");
    return "ht_whole_" + bits + "_f32(x[i])";
  }
  const bool narrows = from == ElementType::kInt64;
  if (narrows)
    return "(int32_t)(x[i] < INT32_MIN ? INT32_MIN : x[i] > INT32_MAX ? INT32_MAX : x[i])";
  return "(int" + bits + "_t)x[i]";
}

void write_cast(Scope& scope, const ir::Cast& op) {
  const ElementType from = scope.input(0).encoding.element;
  if (scope.constant(0) != nullptr) scope.refuse("an input that is constant");
  const std::string text = converted(scope, from, op.element);
  if (text.empty()) {
    scope.refuse("conversions of " + std::string(ir::to_string(from)) + " to " +
                 std::string(ir::to_string(op.element)));
  }
  scope.reads("x", 0);
  scope.writes("y");
  scope.takes_steps("cast", scope.output().shape.element_count());
  scope.line("for (int32_t i = 0; i < " + std::to_string(scope.output().shape.element_count()) +
             "; ++i) y[i] = " + text + ";");
}

}  // namespace

bool write_choice(Scope& scope) {
  if (const auto* binary = scope.op<ir::Binary>()) {
    return write_pair_of(scope, ElementType::kFloat32, "compare_f32",
                         name_of(kComparisons, binary->kind)) ||
           write_integer_pair(scope, name_of(kComparisons, binary->kind)) ||
           write_pair_of(scope, ElementType::kBool, "logical_u8", name_of(kLogical, binary->kind));
  }
  if (const auto* unary = scope.op<ir::Unary>()) return write_predicate(scope, *unary);
  if (scope.op<ir::Where>() != nullptr) {
    write_where(scope);
    return true;
  }
  const auto* cast = scope.op<ir::Cast>();
  if (cast != nullptr) write_cast(scope, *cast);
  return cast != nullptr;
}

}  // namespace halftone::export_c

// SPDX-License-Identifier: Apache-2.0
// Functions of codes: sums, tables, conversions, Softmax.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/export_c/requantizing.h"
#include "halftone/export_c/signed_codes.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::export_c {
namespace {

std::string operand_line(const std::string& name, const SumOperand& operand) {
  return "static const ht_operand " + name + " = {" +
         arguments(operand.zero, operand.multiplier.mantissa,
                   static_cast<int>(operand.multiplier.shift)) +
         "};";
}

void write_quantize(Scope& scope, const ir::QuantizeLinear& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  scope.require_output(ir::ElementType::kInt8);
  if (op.parameters.scales.size() != 1) scope.refuse("a scale for each channel");
  scope.reads("x", 0);
  scope.writes("y");
  scope.call("quantize_f32", arguments("x", scope.output().shape.element_count(),
                                       exact(op.parameters.scales[0]), op.parameters.zero_points[0],
                                       op.rounding == ir::CodeRounding::kHalfAway ? 1 : 0, "y"));
}

void write_dequantize(Scope& scope, const ir::DequantizeLinear& op) {
  scope.require_input(0, ir::ElementType::kInt8, "the input");
  if (op.parameters.scales.size() != 1) scope.refuse("a scale for each channel");
  scope.reads("x", 0);
  scope.writes("y");
  scope.call("dequantize_i8",
             arguments("x", scope.output().shape.element_count(), exact(op.parameters.scales[0]),
                       op.parameters.zero_points[0], "y"));
}

void write_lookup(Scope& scope, const ir::Lookup& op) {
  const bool is_shift = scope.constant(0) == nullptr && shifts_codes(op) &&
                        scope.input(0).encoding.element != op.element;
  if (is_shift) {
    scope.reads("x", 0);
    scope.writes("y");
    return scope.call("shift_codes", arguments("x", scope.output().shape.element_count(), "y"));
  }
  scope.require_input(0, ir::ElementType::kInt8, "the input");
  scope.require_output(ir::ElementType::kInt8);
  std::vector<std::int8_t> table;
  for (const std::int32_t each : op.table) table.push_back(static_cast<std::int8_t>(each));
  scope.reads("x", 0);
  scope.writes("y");
  const std::string name = scope.array<std::int8_t>("table", table, true);
  scope.call("lookup_i8", arguments("x", scope.output().shape.element_count(), name, "y"));
}

/// As runtime/statistics/softmax.cc computes it.
void write_softmax(Scope& scope, const ir::Softmax& op) {
  scope.require_input(0, ir::ElementType::kInt8, "the input");
  if (op.axis + 1 != scope.input(0).shape.rank()) scope.refuse("another axis than the last");
  std::vector<float> powers(ir::Lookup::kCodes);
  for (std::size_t d = 0; d < powers.size(); ++d) {
    powers[d] = static_cast<float>(elementary::exp(-op.beta * static_cast<float>(d)));
  }
  const ir::MatrixExtent x = runtime::row_extent(scope.input(0).shape);
  scope.reads("x", 0);
  scope.writes("y");
  const std::string name = scope.array<float>("powers", powers, true);
  scope.call("softmax_i8", arguments("x", x.rows, x.cols, name, "y"));
}

/// The zero point of a table of q - zero.
std::int32_t zero_of(const Scope& scope, const ir::Lookup& lookup) {
  constexpr std::int32_t kLowestCode = -128;
  const std::int32_t zero = kLowestCode - lookup.table.front();
  for (std::size_t i = 0; i < lookup.table.size(); ++i) {
    if (lookup.table[i] == static_cast<std::int32_t>(i) + kLowestCode - zero) continue;
    scope.refuse("this table of integers");
  }
  return zero;
}

void write_product(Scope& scope) {
  const NodeToWrite& what = scope.what();
  add_codes(scope, *what.requantize);
  scope.call("multiply_i8",
             arguments("a", zero_of(scope, *what.a_integers), "b", zero_of(scope, *what.b_integers),
                       scope.output().shape.element_count(), "&codes", "y"));
}

void write_mean(Scope& scope, const ir::Reduce& op) {
  scope.require_input(0, ir::ElementType::kInt8, "the input");
  scope.require_output(ir::ElementType::kInt8);
  const auto view = runtime::joined_axes(scope.input(0).shape, op.axes);
  if (op.kind != ir::ReduceKind::kSum || !view) scope.refuse("other than sums of adjacent axes");
  scope.reads("x", 0);
  scope.writes("y");
  add_codes(scope, *scope.what().requantize);
  scope.call("mean_i8", arguments("x", zero_of(scope, *scope.what().a_integers), view->outer,
                                  view->extent, view->inner, "&codes", "y"));
}

}  // namespace

bool write_pair(Scope& scope) {
  if (const auto* reduce = scope.op<ir::Reduce>();
      reduce != nullptr && scope.what().a_integers != nullptr) {
    write_mean(scope, *reduce);
    return true;
  }
  const auto* binary = scope.op<ir::Binary>();
  const NodeToWrite& what = scope.what();
  if (binary == nullptr || what.a_integers == nullptr) return false;
  scope.require_input(0, ir::ElementType::kInt8, "the first operand");
  scope.require_input(1, ir::ElementType::kInt8, "the second operand");
  scope.require_output(ir::ElementType::kInt8);
  if (scope.input(0).shape != scope.input(1).shape) scope.refuse("operands of different shapes");
  scope.reads("a", 0);
  scope.reads("b", 1);
  scope.writes("y");
  if (binary->kind == ir::BinaryKind::kMul) {
    write_product(scope);
    return true;
  }
  const auto a = sum_operand(what.a_integers->table);
  const auto b = sum_operand(what.b_integers->table);
  const bool is_sum = binary->kind == ir::BinaryKind::kAdd;
  if (!a || !b || (!is_sum && binary->kind != ir::BinaryKind::kSub)) {
    scope.refuse("this function of two codes, only for sums, differences and products");
  }
  scope.line(operand_line("of_a", *a));
  scope.line(operand_line("of_b", *b));
  add_codes(scope, *what.requantize);
  scope.call("add_i8", arguments("a", "&of_a", "b", "&of_b", scope.output().shape.element_count(),
                                 is_sum ? 1 : -1, "&codes", "y"));
  return true;
}

bool write_function(Scope& scope) {
  if (const auto* quantize = scope.op<ir::QuantizeLinear>()) {
    write_quantize(scope, *quantize);
  } else if (const auto* dequantize = scope.op<ir::DequantizeLinear>()) {
    write_dequantize(scope, *dequantize);
  } else if (const auto* lookup = scope.op<ir::Lookup>()) {
    write_lookup(scope, *lookup);
  } else if (const auto* softmax = scope.op<ir::Softmax>();
             softmax != nullptr && ir::are_codes(scope.input(0))) {
    write_softmax(scope, *softmax);
  } else {
    return false;
  }
  return true;
}

}  // namespace halftone::export_c

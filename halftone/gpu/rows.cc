// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/rows.h"

#include <algorithm>

#include "halftone/gpu/launches.h"
#include "halftone/gpu/norms.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

std::string operation_macro(Operation op) {
  constexpr const char* kBodies[] = {"((a) + (b))", "((a) - (b))", "((a) * (b))", "divided(a, b)"};
  return std::string("#define OPERATION(a, b) ") + kBodies[static_cast<std::size_t>(op)] + "\n";
}

Kernel& elementwise(Programs& programs, Function f, Operation op, const char* name) {
  return programs.kernel(
      program_text(function_macro(f) + operation_macro(op), {"elementary", "elementwise"}), name);
}

}  // namespace

Launch apply(Programs& programs, Function f, const Buffer& x, const Buffer& y, std::size_t count) {
  return {
      &elementwise(programs, f, Operation::kAdd, "apply"), grid_of(count), {x, y, number(count)}};
}

Launch combine(Programs& programs, Combination how, Operand a, Operand b, const Buffer& y) {
  const std::size_t count =
      a.count == 0 || b.count == 0 ? 0 : std::max(a.count * a.step, b.count * b.step);
  return {&elementwise(programs, how.f, how.op, "combine"),
          grid_of(count),
          {a.buffer, b.buffer, y, number(count), number(a.count), number(a.step), number(b.count),
           number(b.step)}};
}

Launch normalize(Programs& programs, const NormShape& shape, const Buffer& x, const Buffer& y) {
  return normalize(programs, shape, x, y, Tails{});
}

Launch combine_gated(Programs& programs, const GatedRows& shape, const Buffer& x, const Buffer& y) {
  const std::size_t count = shape.rows * shape.y_cols;
  return {&elementwise(programs, shape.f, Operation::kAdd, "combine_gated"),
          grid_of(count),
          {x, y, number(count), number(shape.x_cols), number(shape.y_cols), number(shape.up)}};
}

Launch multiply_floats(Programs& programs, const FloatLayer& layer, const Buffer& x,
                       const Buffer& y) {
  const Buffer& bias = layer.bias == nullptr ? layer.weights : *layer.bias;
  Grid grid = grid_of(layer.outputs);
  grid.y = layer.rows;
  return {&programs.kernel(program_text("", {"matmul"}), "multiply_floats"),
          grid,
          {x, layer.weights, bias, y, number(layer.cols), number(layer.outputs),
           number(layer.bias == nullptr ? 0 : 1)}};
}

Launch copy_columns(Programs& programs, const Columns& columns, const Buffer& x, const Buffer& y) {
  const std::size_t count = columns.rows * columns.y_cols;
  return {
      &elementwise(programs, Function::kNone, Operation::kAdd, "copy_columns"),
      grid_of(count),
      {x, y, number(count), number(columns.x_cols), number(columns.y_cols), number(columns.begin)}};
}

Launch gather_rows(Programs& programs, const FloatTable& table, const Buffer& ids,
                   std::size_t count, const Buffer& y) {
  return {&elementwise(programs, Function::kNone, Operation::kAdd, "gather_rows"),
          grid_of(count * table.cols),
          {table.floats, ids, y, number(count * table.cols), number(table.cols)}};
}

}  // namespace halftone::gpu

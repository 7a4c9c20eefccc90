// SPDX-License-Identifier: Apache-2.0
// Operators that move elements.
#include <algorithm>
#include <vector>

#include "halftone/export_c/write_layers.h"

namespace halftone::export_c {
namespace {

/// Bytes of the elements of a shape from an axis on.
std::size_t bytes_from(const ir::ValueType& type, std::size_t axis) {
  std::size_t bytes = ir::size_bytes(type.encoding.element);
  for (std::size_t i = axis; i < type.shape.rank(); ++i) {
    bytes *= static_cast<std::size_t>(type.shape[i]);
  }
  return bytes;
}

void require_dense(const Scope& scope, std::size_t i) {
  if (scope.constant(i) != nullptr) scope.refuse("an input that is constant");
  if (!scope.input(i).encoding.is_dense()) scope.refuse("codes of few bits");
}

void write_concat(Scope& scope, const ir::Concat& op) {
  const std::size_t row = bytes_from(scope.output(), op.axis);
  if (row == 0) scope.refuse("an empty output");
  const std::size_t rows = bytes_from(scope.output(), 0) / row;
  scope.writes("y");
  std::size_t at = 0;
  for (std::size_t i = 0; i < scope.what().inputs.size(); ++i) {
    require_dense(scope, i);
    const std::string name = "x" + std::to_string(i);
    const std::size_t bytes = bytes_from(scope.input(i), op.axis);
    scope.reads(name, i);
    scope.call("copy_rows", "ht_copy_rows",
               arguments(name, rows, bytes, bytes, "(char *)y + " + std::to_string(at), row));
    at += bytes;
  }
}

void write_slice(Scope& scope, const ir::Slice& op) {
  require_dense(scope, 0);
  if (op.step != 1) scope.refuse("steps other than 1");
  const std::size_t from = bytes_from(scope.input(0), op.axis);
  const std::size_t to = bytes_from(scope.output(), op.axis);
  if (to == 0) scope.refuse("an empty output");
  const std::size_t begin = op.begin * bytes_from(scope.input(0), op.axis + 1);
  scope.reads("x", 0);
  scope.writes("y");
  scope.call("copy_rows", "ht_copy_rows",
             arguments("(const char *)x + " + std::to_string(begin),
                       bytes_from(scope.output(), 0) / to, to, from, "y", to));
}

/// Extents and strides of up to four axes in bytes, outermost first.
void write_transpose(Scope& scope, const ir::Transpose& op) {
  require_dense(scope, 0);
  constexpr std::size_t kAxes = 4;
  if (op.permutation.size() > kAxes) scope.refuse("more than four axes");
  std::vector<std::int32_t> extents(kAxes - op.permutation.size(), 1);
  std::vector<std::int32_t> steps(extents.size(), 0);
  for (const std::size_t axis : op.permutation) {
    extents.push_back(static_cast<std::int32_t>(scope.input(0).shape[axis]));
    steps.push_back(static_cast<std::int32_t>(bytes_from(scope.input(0), axis + 1)));
  }
  scope.reads("x", 0);
  scope.writes("y");
  const auto list = [](std::span<const std::int32_t> n) {
    return "{" + arguments(n[0], n[1], n[2], n[3]) + "}";
  };
  scope.line("static const int32_t extents[4] = " + list(extents) + ";");
  scope.line("static const int32_t steps[4] = " + list(steps) + ";");
  scope.call("transpose", "ht_transpose",
             arguments("x", "extents", "steps", ir::size_bytes(scope.output().encoding.element),
                       "y"));
}

}  // namespace

bool write_move(Scope& scope) {
  if (const auto* concat = scope.op<ir::Concat>()) {
    write_concat(scope, *concat);
  } else if (const auto* slice = scope.op<ir::Slice>()) {
    write_slice(scope, *slice);
  } else if (const auto* transpose = scope.op<ir::Transpose>()) {
    write_transpose(scope, *transpose);
  } else {
    return false;
  }
  return true;
}

}  // namespace halftone::export_c

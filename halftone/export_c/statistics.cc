// SPDX-License-Identifier: Apache-2.0
// Sums, extremes and norms along axes of float32, in the order of the runtime.
#include "halftone/runtime/statistics/statistics.h"

#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/normalize.h"
#include "halftone/ir/ops/reduce.h"

namespace halftone::export_c {
namespace {

/// "x, outer, extent, inner" of axes that are adjacent, with the pointers of a layer.
std::string along_axes(Scope& scope, const std::vector<std::size_t>& axes) {
  const auto view = runtime::joined_axes(scope.input(0).shape, axes);
  if (!view) scope.refuse("axes that are not adjacent");
  if (scope.input(0).shape.element_count() == 0) scope.refuse("an empty input");
  scope.reads("x", 0);
  scope.writes("y");
  return arguments("x", view->outer, view->extent, view->inner);
}

void write_softmax_of_floats(Scope& scope, const ir::Softmax& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  const bool is_plain = !op.log && op.beta == 1 && op.axis + 1 == scope.input(0).shape.rank();
  const std::string x = along_axes(scope, {op.axis});
  if (is_plain) {
    const ir::MatrixExtent rows = runtime::row_extent(scope.input(0).shape);
    return scope.call("softmax_f32", arguments("x", rows.rows, rows.cols, "y"));
  }
  scope.call(op.log ? "log_softmax_f64" : "softmax_f64", arguments(x, exact(op.beta), "y"));
}

void write_reduce(Scope& scope, const ir::Reduce& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  const std::string x = along_axes(scope, op.axes);
  const std::size_t count =
      scope.input(0).shape.element_count() / scope.output().shape.element_count();
  const auto sums = [&](int power, std::size_t divisor) {
    scope.call("sums_f32", arguments(x, power, divisor, "y"));
  };
  switch (op.kind) {
    case ir::ReduceKind::kSum:
      return sums(1, 1);
    case ir::ReduceKind::kMean:
      return sums(1, count);
    case ir::ReduceKind::kL1:
      return sums(-1, 1);
    case ir::ReduceKind::kSumSquare:
      return sums(2, 1);
    case ir::ReduceKind::kL2:
      return scope.call("norms_f32", x + ", y");
    case ir::ReduceKind::kMax:
      return scope.call("extremes_f32", x + ", 1, y");
    case ir::ReduceKind::kMin:
      return scope.call("extremes_f32", x + ", -1, y");
    case ir::ReduceKind::kProd:
    case ir::ReduceKind::kLogSum:
    case ir::ReduceKind::kLogSumExp:
      break;
  }
  scope.refuse("the reduction " + std::string(ir::to_string(op.kind)));
}

void write_arg(Scope& scope, const ir::ArgReduce& op) {
  const bool has_codes = scope.input(0).is_dense(ir::ElementType::kInt8);
  if (!has_codes) scope.require_input(0, ir::ElementType::kFloat32, "the input");
  scope.call(has_codes ? "arg_i8" : "arg_f32",
             arguments(along_axes(scope, {op.axis}), op.largest ? 1 : -1, op.last ? 1 : 0, "y"));
}

void write_normalize(Scope& scope, const ir::Normalize& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  scope.call("normalize_f32", arguments(along_axes(scope, op.axes), exact(op.epsilon),
                                        op.subtract_mean ? 1 : 0, "y"));
}

}  // namespace

bool write_statistic(Scope& scope) {
  if (const auto* softmax = scope.op<ir::Softmax>()) {
    write_softmax_of_floats(scope, *softmax);
  } else if (const auto* reduce = scope.op<ir::Reduce>()) {
    write_reduce(scope, *reduce);
  } else if (const auto* arg = scope.op<ir::ArgReduce>()) {
    write_arg(scope, *arg);
  } else if (const auto* normalize = scope.op<ir::Normalize>()) {
    write_normalize(scope, *normalize);
  } else {
    return false;
  }
  return true;
}

}  // namespace halftone::export_c

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "halftone/runtime/activation.h"
#include "halftone/runtime/ops/elementwise.h"

namespace halftone::runtime {
namespace {

/// How the elements of an operand follow each other along rows of the result.
struct Walk {
  std::size_t row_step = 0;  ///< from one row to the next; 0 if the row repeats
  std::size_t step = 0;      ///< from one element to the next; 0 for one number
};

/// Rows over which both operands walk evenly.
struct Rows {
  std::size_t rows = 0;
  std::size_t cols = 0;
  Walk a;
  Walk b;
};

/// How many elements of an operand repeat to make up the result; none if it does not repeat as a
/// whole: its extents, leading ones left out, must be the last of the result's.
std::optional<std::size_t> period(const ir::Shape& operand, const ir::Shape& result) {
  auto dims = operand.dims();
  while (!dims.empty() && dims.front() == 1) dims = dims.subspan(1);
  const auto tail = result.dims().last(dims.size());
  if (!std::equal(dims.begin(), dims.end(), tail.begin())) return std::nullopt;
  return operand.element_count();
}

Walk walk(std::size_t period, std::size_t cols) {
  if (period == 1) return {0, 0};
  return {period == cols ? 0 : cols, 1};
}

/// None unless one operand is the whole result, or both repeat alike.
std::optional<Rows> find_rows(const NodeContext& context) {
  const ir::Shape& shape = context.output().shape;
  const std::size_t count = shape.element_count();
  const auto a = period(context.input(0).shape, shape);
  const auto b = period(context.input(1).shape, shape);
  if (count == 0 || !a || !b || std::max(*a, *b) != count) return std::nullopt;
  const std::size_t least = std::min(*a, *b);
  const std::size_t cols = least == 1 ? count : least;
  return Rows{count / cols, cols, walk(*a, cols), walk(*b, cols)};
}

template <typename Function>
void for_rows(const Rows& rows, const float* a, const float* b, float* y, Function function) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const float* a_row = a + r * rows.a.row_step;
    const float* b_row = b + r * rows.b.row_step;
    float* y_row = y + r * rows.cols;
    if (rows.a.step == 1 && rows.b.step == 1) {
      for (std::size_t c = 0; c < rows.cols; ++c) y_row[c] = function(a_row[c], b_row[c]);
    } else {
      for (std::size_t c = 0; c < rows.cols; ++c) {
        y_row[c] = function(a_row[c * rows.a.step], b_row[c * rows.b.step]);
      }
    }
  }
}

/// The kind outside the loop, so that the compiler sees one plain operation in it.
void compute(ir::BinaryKind kind, const Rows& rows, const float* a, const float* b, float* y) {
  using Kind = ir::BinaryKind;
  switch (kind) {
    case Kind::kAdd:
      return for_rows(rows, a, b, y, [](float l, float r) { return l + r; });
    case Kind::kSub:
      return for_rows(rows, a, b, y, [](float l, float r) { return l - r; });
    case Kind::kMul:
      return for_rows(rows, a, b, y, [](float l, float r) { return l * r; });
    case Kind::kDiv:
      return for_rows(rows, a, b, y, [](float l, float r) { return l / r; });
    case Kind::kMax:
      return for_rows(rows, a, b, y, [](float l, float r) { return std::max(l, r); });
    case Kind::kMin:
      return for_rows(rows, a, b, y, [](float l, float r) { return std::min(l, r); });
    case Kind::kPow:
      return for_rows(rows, a, b, y, [](float l, float r) { return std::pow(l, r); });
    case Kind::kPRelu:
      return for_rows(rows, a, b, y, [](float l, float r) { return l < 0 ? l * r : l; });
    default:
      return for_rows(rows, a, b, y, [kind](float l, float r) { return ir::apply(kind, l, r); });
  }
}

}  // namespace

Verdict judge_binary_rows(const NodeContext& context) {
  const bool is_float = context.input(0).is_dense(ir::ElementType::kFloat32) &&
                        context.output().is_dense(ir::ElementType::kFloat32);
  if (!is_float) return refuse("not of float32");
  if (!find_rows(context)) {
    return refuse("shapes " + context.input(0).shape.to_string() + " and " +
                  context.input(1).shape.to_string() + " do not repeat row by row");
  }
  return accept("operands repeat row by row");
}

Kernel create_binary_rows(const NodeContext& context) {
  const auto op = context.op<ir::Binary>();
  const Rows rows = *find_rows(context);
  Kernel kernel;
  kernel.bind = [op, rows](const Buffers& buffers) -> Call {
    const auto* a = reinterpret_cast<const float*>(buffers.inputs[0]);
    const auto* b = reinterpret_cast<const float*>(buffers.inputs[1]);
    auto* y = reinterpret_cast<float*>(buffers.output);
    return [op, rows, a, b, y] {
      compute(op.kind, rows, a, b, y);
      const std::span result(y, rows.rows * rows.cols);
      apply_activation(op.activation, result, result);
    };
  };
  return kernel;
}

}  // namespace halftone::runtime

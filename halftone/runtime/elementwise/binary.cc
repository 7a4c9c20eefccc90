// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/ir/strides.h"
#include "halftone/runtime/elementwise/activation.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::runtime {
namespace {

/// Strides of an operand along rows of the result.
struct Walk {
  std::size_t row_step = 0;  ///< between rows; 0 if the row repeats
  std::size_t step = 0;      ///< between elements; 0 for a single value
};

/// Rows of the result along which both operands advance by constant steps.
struct Rows {
  std::size_t rows = 1;
  std::size_t cols = 1;
  Walk a;
  Walk b;
};

/// An axis of the result, with the stride along it in each operand.
struct BroadcastAxis {
  std::size_t count = 1;
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Loops over the outer axes, one set of rows each.
struct Broadcast {
  std::vector<BroadcastAxis> outer;
  Rows rows;
};

/// The axes of the result; merges axes that are contiguous in both operands.
std::vector<BroadcastAxis> broadcast_axes(const NodeContext& context) {
  const ir::Shape& shape = context.output().shape;
  const auto a = ir::broadcast_strides(context.input(0).shape, shape);
  const auto b = ir::broadcast_strides(context.input(1).shape, shape);
  std::vector<BroadcastAxis> axes;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const BroadcastAxis axis{static_cast<std::size_t>(shape[i]), a[i], b[i]};
    if (axis.count == 1) continue;
    const bool continues = !axes.empty() && axes.back().a == axis.a * axis.count &&
                           axes.back().b == axis.b * axis.count;
    if (continues) {
      axes.back() = {axes.back().count * axis.count, axis.a, axis.b};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

Broadcast find_broadcast(const NodeContext& context) {
  Broadcast result{broadcast_axes(context), {}};
  const auto take = [&] {
    if (result.outer.empty()) return BroadcastAxis{};
    const BroadcastAxis axis = result.outer.back();
    result.outer.pop_back();
    return axis;
  };
  const BroadcastAxis cols = take();
  const BroadcastAxis rows = take();
  result.rows = {rows.count, cols.count, {rows.a, cols.a}, {rows.b, cols.b}};
  return result;
}

/// One row; the steps are 0 or 1. An operand that repeats is read once.
template <typename T, typename Function>
void for_row(const Rows& rows, const T* a, const T* b, T* y, Function function) {
  if (rows.a.step == 0) {
    const T l = *a;
    for (std::size_t c = 0; c < rows.cols; ++c) y[c] = function(l, b[c * rows.b.step]);
  } else if (rows.b.step == 0) {
    const T r = *b;
    for (std::size_t c = 0; c < rows.cols; ++c) y[c] = function(a[c], r);
  } else {
    for (std::size_t c = 0; c < rows.cols; ++c) y[c] = function(a[c], b[c]);
  }
}

template <typename T, typename Function>
void for_rows(const Rows& rows, const T* a, const T* b, T* y, Function function) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    for_row(rows, a + r * rows.a.row_step, b + r * rows.b.row_step, y + r * rows.cols, function);
  }
}

/// Switches on the kind outside the loop, so that the compiler sees one plain operation inside.
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
      return for_rows(rows, a, b, y, [](float l, float r) { return elementary::larger(l, r); });
    case Kind::kMin:
      return for_rows(rows, a, b, y, [](float l, float r) { return elementary::smaller(l, r); });
    case Kind::kPRelu:
      return for_rows(rows, a, b, y, [](float l, float r) { return l < 0 ? l * r : l; });
    case Kind::kPow:
    case Kind::kMod:
    case Kind::kFmod:
    case Kind::kShiftLeft:
    case Kind::kShiftRight:
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kXor:
    case Kind::kEqual:
    case Kind::kLess:
    case Kind::kLessOrEqual:
    case Kind::kGreater:
    case Kind::kGreaterOrEqual:
      break;
  }
  for_rows(rows, a, b, y, [kind](float l, float r) { return ir::apply(kind, l, r); });
}

/// Sum, difference or product of integers, which wrap around.
void compute(ir::BinaryKind kind, const Rows& rows, const std::uint32_t* a, const std::uint32_t* b,
             std::uint32_t* y) {
  using Int = std::uint32_t;
  if (kind == ir::BinaryKind::kAdd) {
    return for_rows(rows, a, b, y, [](Int l, Int r) { return l + r; });
  }
  if (kind == ir::BinaryKind::kSub) {
    return for_rows(rows, a, b, y, [](Int l, Int r) { return l - r; });
  }
  for_rows(rows, a, b, y, [](Int l, Int r) { return l * r; });
}

/// A Binary whose operands advance along the axes of the result.
template <typename T>
class BinaryWalk {
 public:
  BinaryWalk(ir::BinaryKind kind, const Broadcast& shape) : kind_(kind), shape_(shape) {}

  /// Processes the axes from `first` on; returns the end of the output.
  T* operator()(const T* a, const T* b, T* y, std::size_t first = 0) const {
    if (first == shape_.outer.size()) {
      compute(kind_, shape_.rows, a, b, y);
      return y + shape_.rows.rows * shape_.rows.cols;
    }
    const BroadcastAxis& axis = shape_.outer[first];
    for (std::size_t i = 0; i < axis.count; ++i) {
      y = (*this)(a + i * axis.a, b + i * axis.b, y, first + 1);
    }
    return y;
  }

 private:
  ir::BinaryKind kind_;
  const Broadcast& shape_;
};

Verdict judge_binary_rows(const NodeContext& context) {
  const bool is_float = context.input(0).is_dense(ir::ElementType::kFloat32) &&
                        context.output().is_dense(ir::ElementType::kFloat32);
  if (!is_float) return refuse("the input is not float32");
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  return accept("row by row");
}

Kernel create_binary_rows(const NodeContext& context) {
  const auto op = context.op<ir::Binary>();
  const std::size_t count = context.output().shape.element_count();
  Kernel kernel;
  kernel.bind = [op, count, shape = find_broadcast(context)](const Buffers& buffers) -> Call {
    const auto* a = reinterpret_cast<const float*>(buffers.inputs[0]);
    const auto* b = reinterpret_cast<const float*>(buffers.inputs[1]);
    auto* y = reinterpret_cast<float*>(buffers.output);
    return [op, shape, count, a, b, y] {
      BinaryWalk<float>(op.kind, shape)(a, b, y);
      const std::span result(y, count);
      apply_activation(op.activation, result, result);
    };
  };
  return kernel;
}

Verdict judge_binary_integers(const NodeContext& context) {
  using Kind = ir::BinaryKind;
  const Kind kind = context.op<ir::Binary>().kind;
  if (!context.input(0).is_dense(ir::ElementType::kInt32)) return refuse("the input is not int32");
  if (kind != Kind::kAdd && kind != Kind::kSub && kind != Kind::kMul) {
    return refuse("not a sum, difference or product");
  }
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  return accept("row by row");
}

Kernel create_binary_integers(const NodeContext& context) {
  Kernel kernel;
  kernel.bind = [kind = context.op<ir::Binary>().kind,
                 shape = find_broadcast(context)](const Buffers& buffers) -> Call {
    const auto* a = reinterpret_cast<const std::uint32_t*>(buffers.inputs[0]);
    const auto* b = reinterpret_cast<const std::uint32_t*>(buffers.inputs[1]);
    auto* y = reinterpret_cast<std::uint32_t*>(buffers.output);
    return [kind, shape, a, b, y] { BinaryWalk<std::uint32_t>(kind, shape)(a, b, y); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kBinaryFloats{
    .name = "rows_f32", .judge = judge_binary_rows, .create = create_binary_rows};
constinit const Implementation kBinaryIntegers{
    .name = "rows_i32", .judge = judge_binary_integers, .create = create_binary_integers};

}  // namespace halftone::runtime

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/ir/ops/binary_functions.h"
#include "halftone/ir/strides.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::runtime {
namespace {

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

/// Computes rows with one function, which the compiler sees inside the loop.
template <typename T, T (*function)(T, T)>
void compute_rows(const Rows& rows, const T* a, const T* b, T* y) {
  for_rows(rows, a, b, y, [](T l, T r) { return function(l, r); });
}

template <typename T>
using RowFunction = void (*)(const Rows& rows, const T* a, const T* b, T* y);

/// The loops of a kind; null: none of its own.
struct RowFunctions {
  ir::BinaryKind kind;
  RowFunction<float> floats = nullptr;
  RowFunction<std::uint32_t> integers = nullptr;
};

constexpr RowFunctions kRowFunctions[] = {
    {ir::BinaryKind::kAdd, compute_rows<float, ir::add_pair<float>>,
     compute_rows<std::uint32_t, ir::add_pair<std::uint32_t>>},
    {ir::BinaryKind::kSub, compute_rows<float, ir::subtract_pair<float>>,
     compute_rows<std::uint32_t, ir::subtract_pair<std::uint32_t>>},
    {ir::BinaryKind::kMul, compute_rows<float, ir::multiply_pair<float>>,
     compute_rows<std::uint32_t, ir::multiply_pair<std::uint32_t>>},
    {ir::BinaryKind::kDiv, compute_rows<float, ir::divide_pair>},
    {ir::BinaryKind::kMax, compute_rows<float, elementary::larger<float>>},
    {ir::BinaryKind::kMin, compute_rows<float, elementary::smaller<float>>},
    {ir::BinaryKind::kPRelu, compute_rows<float, ir::prelu_pair<float>>},
};

RowFunctions row_functions(ir::BinaryKind kind) {
  const auto* const found = std::ranges::find(kRowFunctions, kind, &RowFunctions::kind);
  return found == std::end(kRowFunctions) ? RowFunctions{kind} : *found;
}

void compute(ir::BinaryKind kind, const Rows& rows, const float* a, const float* b, float* y) {
  if (const RowFunction<float> compute_all = row_functions(kind).floats) {
    return compute_all(rows, a, b, y);
  }
  for_rows(rows, a, b, y, ir::traits_of(kind).value);
}

/// @pre the kind has a loop for integers
void compute(ir::BinaryKind kind, const Rows& rows, const std::uint32_t* a, const std::uint32_t* b,
             std::uint32_t* y) {
  row_functions(kind).integers(rows, a, b, y);
}

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
      shape.for_rows(a, b, y, [&](const Rows& rows, const float* l, const float* r, float* to) {
        compute(op.kind, rows, l, r, to);
      });
      const std::span result(y, count);
      apply_activation(op.activation, result, result);
    };
  };
  return kernel;
}

Verdict judge_binary_integers(const NodeContext& context) {
  const ir::BinaryKind kind = context.op<ir::Binary>().kind;
  if (!context.input(0).is_dense(ir::ElementType::kInt32)) return refuse("the input is not int32");
  if (row_functions(kind).integers == nullptr) return refuse("not a sum, difference or product");
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
    return [kind, shape, a, b, y] {
      shape.for_rows(a, b, y,
                     [kind](const Rows& rows, const std::uint32_t* l, const std::uint32_t* r,
                            std::uint32_t* to) { compute(kind, rows, l, r, to); });
    };
  };
  return kernel;
}

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

}  // namespace

constinit const Implementation kBinaryFloats{
    .name = "rows_f32", .judge = judge_binary_rows, .create = create_binary_rows};
constinit const Implementation kBinaryIntegers{
    .name = "rows_i32", .judge = judge_binary_integers, .create = create_binary_integers};

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

}  // namespace halftone::runtime

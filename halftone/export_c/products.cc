// SPDX-License-Identifier: Apache-2.0
// Products of float32 besides those of layers: MatMul and ConvTranspose.
#include <array>
#include <vector>

#include "halftone/export_c/code_layers.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/convolution.h"
#include "halftone/ir/ops/linear.h"
#include "halftone/ir/strides.h"

namespace halftone::export_c {
namespace {

/// The axes of products before a matrix, of an operand that is no vector.
ir::Shape products_of(const ir::Shape& operand) {
  const auto dims = operand.dims();
  return ir::Shape(std::vector<ir::Dim>(dims.begin(), dims.end() - 2));
}

/// The shape of an operand with two axes at least.
ir::Shape as_matrices(const ir::Shape& shape, bool is_left) {
  if (shape.rank() != 1) return shape;
  return is_left ? ir::Shape{1, shape[0]} : ir::Shape{shape[0], 1};
}

struct ProductAxes {
  std::vector<std::int64_t> extents;  ///< two of products, rows, columns, terms
  std::vector<std::int64_t> a;        ///< two of products, rows, terms
  std::vector<std::int64_t> b;        ///< two of products, columns, terms
};

/// Adds the axes of products, two at most, behind joining those that go on in both operands.
void add_products(const Scope& scope, const ir::Shape& a, const ir::Shape& b, ProductAxes& axes) {
  const ir::Shape all = ir::broadcast(products_of(a), products_of(b));
  const auto a_steps = ir::broadcast_strides(products_of(a), all);
  const auto b_steps = ir::broadcast_strides(products_of(b), all);
  const ir::Dim a_size = a[a.rank() - 1] * a[a.rank() - 2];
  const ir::Dim b_size = b[b.rank() - 1] * b[b.rank() - 2];
  for (std::size_t i = 0; i < all.rank(); ++i) {
    const auto a_step = static_cast<std::int64_t>(a_steps[i]) * a_size;
    const auto b_step = static_cast<std::int64_t>(b_steps[i]) * b_size;
    if (all[i] == 1) continue;
    const bool goes_on = !axes.extents.empty() && axes.a.back() == a_step * all[i] &&
                         axes.b.back() == b_step * all[i];
    if (goes_on) {
      axes.extents.back() *= all[i];
      axes.a.back() = a_step;
      axes.b.back() = b_step;
    } else {
      axes.extents.push_back(all[i]);
      axes.a.push_back(a_step);
      axes.b.push_back(b_step);
    }
  }
  if (axes.extents.size() > 2) scope.refuse("more than two axes of products");
  const std::size_t missing = 2 - axes.extents.size();
  axes.extents.insert(axes.extents.begin(), missing, 1);
  axes.a.insert(axes.a.begin(), missing, 0);
  axes.b.insert(axes.b.begin(), missing, 0);
}

ProductAxes axes_of(const Scope& scope, const ir::MatMul& op) {
  // A vector is no matrix to turn.
  const bool turns_a = op.transpose_a && scope.input(0).shape.rank() > 1;
  const bool turns_b = op.transpose_b && scope.input(1).shape.rank() > 1;
  const ir::Shape a = as_matrices(scope.input(0).shape, true);
  const ir::Shape b = as_matrices(scope.input(1).shape, false);
  const ir::Dim a_cols = a.back();
  const ir::Dim b_cols = b.back();
  const ir::Dim a_rows = a[a.rank() - 2];
  const ir::Dim b_rows = b[b.rank() - 2];
  ProductAxes axes;
  add_products(scope, a, b, axes);
  axes.extents.insert(axes.extents.end(), {turns_a ? a_cols : a_rows, turns_b ? b_rows : b_cols,
                                           turns_a ? a_rows : a_cols});
  axes.a.insert(axes.a.end(), {turns_a ? 1 : a_cols, turns_a ? a_cols : 1});
  axes.b.insert(axes.b.end(), {turns_b ? b_cols : 1, turns_b ? 1 : b_cols});
  return axes;
}

std::string array_of(const std::vector<std::int64_t>& numbers) {
  std::string text = std::to_string(numbers.front());
  for (std::size_t i = 1; i < numbers.size(); ++i) text = arguments(text, numbers[i]);
  return "[" + std::to_string(numbers.size()) + "] = {" + text + "};";
}

std::string factor(Scope& scope, std::size_t i, const std::string& name) {
  if (const ir::Constant* constant = scope.constant(i)) {
    return scope.array<float>(name, std::get<ir::Tensor>(*constant).as<float>());
  }
  scope.reads(name, i);
  return name;
}

void write_matmul(Scope& scope, const ir::MatMul& op) {
  for (const std::size_t i : {0U, 1U}) {
    if (scope.input(i).is_dense(ir::ElementType::kFloat32)) continue;
    scope.refuse("operands of " + scope.input(i).to_string());
  }
  const bool is_empty =
      scope.input(0).shape.element_count() == 0 || scope.input(1).shape.element_count() == 0;
  if (is_empty) scope.refuse("an empty operand");
  const ProductAxes axes = axes_of(scope, op);
  const std::string a = factor(scope, 0, "a");
  const std::string b = factor(scope, 1, "b");
  scope.writes("y");
  scope.line("static const int32_t extents" + array_of(axes.extents));
  scope.line("static const int32_t a_steps" + array_of(axes.a));
  scope.line("static const int32_t b_steps" + array_of(axes.b));
  scope.call("matmul_f32", arguments(a, "a_steps", b, "b_steps", "extents", "y"));
}

void write_conv_transpose(Scope& scope, const ir::ConvTranspose& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  if (scope.constant(1) == nullptr) scope.refuse("weights that are computed");
  if (scope.output().shape.element_count() == 0) scope.refuse("an empty output");
  const auto outputs = static_cast<std::size_t>(scope.output().shape.back());
  const ir::Tensor weights = ir::to_float(*scope.constant(1));
  std::vector<float> bias(outputs);
  if (const std::span<const float> given = bias_of(scope); !given.empty()) {
    bias.assign(given.begin(), given.end());
  }
  scope.reads("x", 0);
  scope.writes("y");
  const std::string w = scope.array<float>("weights", weights.as<float>());
  const std::string b = scope.array<float>("bias", bias);
  add_window(scope, window_extents(scope, op.window, ir::kernel_extents(scope.input(1).shape)));
  scope.call("conv_transpose_f32", arguments("x", "&window", op.groups, w, b, "y"));
  add_activation(scope, op.activation, "y", scope.output().shape.element_count(), false);
}

}  // namespace

bool write_products(Scope& scope) {
  if (const auto* matmul = scope.op<ir::MatMul>()) {
    write_matmul(scope, *matmul);
  } else if (const auto* transpose = scope.op<ir::ConvTranspose>()) {
    write_conv_transpose(scope, *transpose);
  } else {
    return false;
  }
  return true;
}

}  // namespace halftone::export_c

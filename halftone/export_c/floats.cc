// SPDX-License-Identifier: Apache-2.0
// Operators on float32, in the runtime's fixed order.
#include <algorithm>
#include <iterator>
#include <vector>

#include "halftone/export_c/broadcast.h"
#include "halftone/export_c/code_layers.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/elementwise.h"

namespace halftone::export_c {
namespace {

struct PairKernel {
  ir::BinaryKind kind;
  const char* name;
};

constexpr PairKernel kPairKernels[] = {
    {ir::BinaryKind::kAdd, "HT_ADD"},      {ir::BinaryKind::kSub, "HT_SUBTRACT"},
    {ir::BinaryKind::kMul, "HT_MULTIPLY"}, {ir::BinaryKind::kDiv, "HT_DIVIDE"},
    {ir::BinaryKind::kMax, "HT_LARGER"},   {ir::BinaryKind::kMin, "HT_SMALLER"},
    {ir::BinaryKind::kPRelu, "HT_SLOPED"},
};

std::string kind_of(const Scope& scope, ir::BinaryKind kind) {
  const auto* const found = std::ranges::find(kPairKernels, kind, &PairKernel::kind);
  if (found != std::end(kPairKernels)) return found->name;
  scope.refuse("the function " + std::string(ir::to_string(kind)) + " of two numbers");
}

bool write_binary(Scope& scope, const ir::Binary& op) {
  const bool is_power = op.kind == ir::BinaryKind::kPow;
  const std::string kind = is_power ? "" : kind_of(scope, op.kind);
  for (const std::size_t i : {0U, 1U}) {
    if (scope.input(i).is_dense(ir::ElementType::kFloat32)) continue;
    scope.refuse("operands of " + scope.input(i).to_string());
  }
  const OperandAxes axes = operand_axes(scope);
  const std::string a = operand(scope, 0, "a");
  const std::string b = operand(scope, 1, "b");
  scope.writes("y");
  add_axes(scope, axes, {"a", "b"});
  const std::string operands = arguments(a, "a_steps", b, "b_steps", "extents");
  scope.call(is_power ? "powers_f32" : "binary_f32",
             operands + (is_power ? "" : ", " + kind) + ", y");
  add_activation(scope, op.activation, "y", scope.output().shape.element_count(), false);
  return true;
}

/// The mean of a whole image that is computed by pixel.
void write_mean_of_pixels(Scope& scope) {
  const ir::MatrixExtent x = runtime::row_extent(scope.input(0).shape);
  scope.writes("y");
  scope.scratch("means", "double", x.cols);
  scope.scratch("pixel", "float", x.cols);
  scope.line("memset(means, 0, " + std::to_string(x.cols) + " * sizeof *means);");
  scope.line("for (int32_t p = 0; p < " + std::to_string(x.rows) + "; ++p) {");
  scope.compute_pixel(0, "p", "pixel");
  scope.call_within("add_to_f64", arguments("pixel", x.cols, "means"));
  scope.line("}");
  scope.call("mean_f64", arguments("means", x.cols, x.rows, "y"));
}

bool write_float_pool(Scope& scope, const ir::Pool& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  if (scope.is_by_pixel(scope.what().inputs[0])) {
    write_mean_of_pixels(scope);
    return true;
  }
  scope.reads("x", 0);
  scope.writes("y");
  add_window(scope, window_extents(scope, op.window, op.kernel));
  if (op.kind == ir::PoolKind::kMax) {
    scope.call("max_pool_f32", "x, &window, y");
  } else {
    scope.call("mean_pool_f32", arguments("x", "&window", op.count_padding ? 1 : 0, "y"));
  }
  return true;
}

bool write_unary(Scope& scope, const ir::Unary& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  scope.require_output(ir::ElementType::kFloat32);
  const std::size_t count = scope.output().shape.element_count();
  scope.reads("x", 0);
  scope.writes("y");
  scope.line("memcpy(y, x, " + std::to_string(count) + " * sizeof *y);");
  add_activation(scope, op.activation, "y", count, false);
  return true;
}

/// Weights and bias of a layer of float32.
struct FloatConstants {
  std::string weights;
  std::string bias;
};

FloatConstants add_constants(Scope& scope, std::size_t outputs) {
  const auto weights = std::get<ir::Tensor>(*scope.constant(1)).as<float>();
  std::vector<float> bias(outputs);
  if (const std::span<const float> given = bias_of(scope); !given.empty()) {
    bias.assign(given.begin(), given.end());
  }
  scope.reads("x", 0);
  scope.writes("y");
  return {scope.array<float>("weights", weights), scope.array<float>("bias", bias)};
}

bool has_floats(const Scope& scope) {
  return scope.constant(1) != nullptr && scope.input(0).is_dense(ir::ElementType::kFloat32) &&
         scope.input(1).is_dense(ir::ElementType::kFloat32);
}

bool write_float_dense(Scope& scope, const ir::FullyConnected& op) {
  if (!has_floats(scope)) return false;
  const ir::MatrixExtent x = runtime::row_extent(scope.input(0).shape);
  const auto outputs = static_cast<std::size_t>(scope.output().shape.back());
  const auto [w, b] = add_constants(scope, outputs);
  scope.call("dense_f32", arguments("x", x.rows, x.cols, outputs, w, b, "y"));
  add_activation(scope, op.activation, "y", scope.output().shape.element_count(), false);
  return true;
}

bool write_float_conv(Scope& scope, const ir::Conv& op) {
  if (!has_floats(scope)) return false;
  if (scope.has_input(3) || op.codes != nullptr) scope.refuse("a residual or codes behind float32");
  const auto [w, b] = add_constants(scope, static_cast<std::size_t>(scope.output().shape.back()));
  add_window(scope, window_extents(scope, op.window, ir::kernel_extents(scope.input(1).shape)));
  scope.call("conv_f32", arguments("x", "&window", op.groups, w, b, "y"));
  add_activation(scope, op.activation, "y", scope.output().shape.element_count(), false);
  return true;
}

}  // namespace

bool write_float(Scope& scope) {
  if (const auto* binary = scope.op<ir::Binary>()) return write_binary(scope, *binary);
  if (const auto* pool = scope.op<ir::Pool>()) return write_float_pool(scope, *pool);
  if (const auto* unary = scope.op<ir::Unary>()) return write_unary(scope, *unary);
  if (const auto* dense = scope.op<ir::FullyConnected>()) return write_float_dense(scope, *dense);
  if (const auto* conv = scope.op<ir::Conv>()) return write_float_conv(scope, *conv);
  return false;
}

}  // namespace halftone::export_c

// SPDX-License-Identifier: Apache-2.0
// Operators on float32, in the runtime's fixed order.
#include <limits>
#include <vector>

#include "halftone/export_c/code_layers.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/elementwise.h"

namespace halftone::export_c {
namespace {

/// Steps of an operand along the last four axes of the output, in elements; 0 where it repeats.
std::vector<std::int64_t> steps_in(const Scope& scope, const ir::Shape& operand) {
  const std::size_t rank = scope.output().shape.rank();
  std::vector<std::int64_t> steps(kMaxAxes, 0);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < operand.rank(); ++i) {
    const ir::Dim extent = operand[operand.rank() - 1 - i];
    if (extent != 1) steps[kMaxAxes - 1 - i] = step;
    step *= extent;
  }
  if (rank > kMaxAxes) scope.refuse("more than four axes");
  return steps;
}

std::string list(const std::vector<std::int64_t>& numbers) {
  return "{" + arguments(numbers[0], numbers[1], numbers[2], numbers[3]) + "}";
}

/// The name of an operand: a value, or a constant array.
std::string operand(Scope& scope, std::size_t i, const std::string& name) {
  if (!scope.input(i).is_dense(ir::ElementType::kFloat32)) {
    scope.refuse("operands of " + scope.input(i).to_string());
  }
  const ir::Constant* constant = scope.constant(i);
  if (constant == nullptr) {
    scope.reads(name, i);
    return name;
  }
  return scope.array<float>(name, std::get<ir::Tensor>(*constant).as<float>());
}

std::string kind_of(const Scope& scope, ir::BinaryKind kind) {
  if (kind == ir::BinaryKind::kAdd) return "HT_ADD";
  if (kind == ir::BinaryKind::kSub) return "HT_SUBTRACT";
  if (kind == ir::BinaryKind::kMul) return "HT_MULTIPLY";
  if (kind == ir::BinaryKind::kDiv) return "HT_DIVIDE";
  scope.refuse("this function of two numbers");
}

bool write_binary(Scope& scope, const ir::Binary& op) {
  const std::string kind = kind_of(scope, op.kind);
  const ir::Shape& shape = scope.output().shape;
  std::vector<std::int64_t> extents(kMaxAxes, 1);
  for (std::size_t i = 0; i < shape.rank() && i < kMaxAxes; ++i) {
    extents[kMaxAxes - 1 - i] = shape[shape.rank() - 1 - i];
  }
  const auto a_steps = steps_in(scope, scope.input(0).shape);
  const auto b_steps = steps_in(scope, scope.input(1).shape);
  const std::string a = operand(scope, 0, "a");
  const std::string b = operand(scope, 1, "b");
  scope.writes("y");
  scope.line("static const int32_t extents[4] = " + list(extents) + ";");
  scope.line("static const int32_t a_steps[4] = " + list(a_steps) + ";");
  scope.line("static const int32_t b_steps[4] = " + list(b_steps) + ";");
  scope.call("binary_f32", arguments(a, "a_steps", b, "b_steps", "extents", kind, "y"));
  add_activation(scope, op.activation, "y", shape.element_count(), false);
  return true;
}

bool write_float_pool(Scope& scope, const ir::Pool& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
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

bool write_float_softmax(Scope& scope, const ir::Softmax& op) {
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  const bool is_plain = !op.log && op.beta == 1 && op.axis + 1 == scope.input(0).shape.rank();
  if (!is_plain) scope.refuse("a logarithm, a factor or another axis than the last");
  const ir::MatrixExtent x = runtime::row_extent(scope.input(0).shape);
  scope.reads("x", 0);
  scope.writes("y");
  scope.call("softmax_f32", arguments("x", x.rows, x.cols, "y"));
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

void add_activation(Scope& scope, const ir::Activation& activation, const std::string& y,
                    std::size_t count, bool is_in_loop) {
  const auto add = [&](const std::string& kernel, const std::string& last) {
    const std::string text = arguments(y, count) + last;
    if (is_in_loop) return scope.call_within(kernel, text);
    scope.call_after(kernel, text);
  };
  if (activation.kind == ir::ActivationKind::kTanh) return add("tanh_f32", "");
  if (activation.kind == ir::ActivationKind::kSigmoid) return add("sigmoid_f32", "");
  const auto limits = ir::limits_of(activation);
  if (!limits) scope.refuse("the activation " + ir::to_string(activation));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (limits->low != -kInfinity) add("at_least_f32", ", " + exact(limits->low));
  if (limits->high != kInfinity) add("at_most_f32", ", " + exact(limits->high));
}

bool write_float(Scope& scope) {
  if (const auto* binary = scope.op<ir::Binary>()) return write_binary(scope, *binary);
  if (const auto* pool = scope.op<ir::Pool>()) return write_float_pool(scope, *pool);
  if (const auto* softmax = scope.op<ir::Softmax>()) return write_float_softmax(scope, *softmax);
  if (const auto* unary = scope.op<ir::Unary>()) return write_unary(scope, *unary);
  if (const auto* dense = scope.op<ir::FullyConnected>()) return write_float_dense(scope, *dense);
  if (const auto* conv = scope.op<ir::Conv>()) return write_float_conv(scope, *conv);
  return false;
}

}  // namespace halftone::export_c

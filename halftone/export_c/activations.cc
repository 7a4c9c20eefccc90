// SPDX-License-Identifier: Apache-2.0
// Functions of single elements of float32, in place.
#include <algorithm>
#include <iterator>
#include <limits>

#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/activation.h"

namespace halftone::export_c {
namespace {

/// The parameters that a kernel takes behind the elements.
enum class Parameters { kNone, kAlpha, kAlphaAndOne, kBoth };

struct ActivationKernel {
  ir::ActivationKind kind;
  const char* text;
  Parameters parameters = Parameters::kNone;
};

/// Those that computations of limits do not cover.
constexpr ActivationKernel kKernels[] = {
    {ir::ActivationKind::kLeakyRelu, "leaky_relu_f32", Parameters::kAlpha},
    {ir::ActivationKind::kElu, "elu_f32", Parameters::kAlphaAndOne},
    {ir::ActivationKind::kSelu, "elu_f32", Parameters::kBoth},
    {ir::ActivationKind::kThresholded, "thresholded_f32", Parameters::kAlpha},
    {ir::ActivationKind::kTanh, "tanh_f32"},
    {ir::ActivationKind::kSigmoid, "sigmoid_f32"},
    {ir::ActivationKind::kHardSigmoid, "hard_sigmoid_f32", Parameters::kBoth},
    {ir::ActivationKind::kHardSwish, "hard_swish_f32"},
    {ir::ActivationKind::kSilu, "silu_f32"},
    {ir::ActivationKind::kGelu, "gelu_f32"},
    {ir::ActivationKind::kGeluTanh, "gelu_tanh_f32"},
    {ir::ActivationKind::kSoftplus, "softplus_f32"},
    {ir::ActivationKind::kSoftsign, "softsign_f32"},
    {ir::ActivationKind::kSign, "sign_f32"},
    {ir::ActivationKind::kExp, "powers_of_e_f32"},
    {ir::ActivationKind::kLog, "log_f32"},
    {ir::ActivationKind::kSqrt, "sqrt_f32"},
    {ir::ActivationKind::kAbs, "abs_f32"},
    {ir::ActivationKind::kNeg, "negate_f32"},
    {ir::ActivationKind::kReciprocal, "reciprocal_f32"},
    {ir::ActivationKind::kSquare, "square_f32"},
    {ir::ActivationKind::kErf, "erf_f32"},
    {ir::ActivationKind::kFloor, "floor_f32"},
    {ir::ActivationKind::kCeil, "ceil_f32"},
    {ir::ActivationKind::kRound, "round_f32"},
};

std::string parameters_text(const ActivationKernel& kernel, const ir::Activation& activation) {
  switch (kernel.parameters) {
    case Parameters::kNone:
      return "";
    case Parameters::kAlpha:
      return ", " + exact(activation.alpha);
    case Parameters::kAlphaAndOne:
      return ", " + arguments(exact(activation.alpha), exact(1));
    case Parameters::kBoth:
      return ", " + arguments(exact(activation.alpha), exact(activation.beta));
  }
  return "";
}

}  // namespace

void add_activation(Scope& scope, const ir::Activation& activation, const std::string& y,
                    std::size_t count, bool is_in_loop) {
  const auto add = [&](const std::string& kernel, const std::string& last) {
    const std::string text = arguments(y, count) + last;
    if (is_in_loop) return scope.call_within(kernel, text);
    scope.call_after(kernel, text);
  };
  const auto* const kernel = std::ranges::find(kKernels, activation.kind, &ActivationKernel::kind);
  if (kernel != std::end(kKernels)) return add(kernel->text, parameters_text(*kernel, activation));
  const auto limits = ir::limits_of(activation);
  if (!limits) scope.refuse("the activation " + ir::to_string(activation));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (limits->low != -kInfinity) add("at_least_f32", ", " + exact(limits->low));
  if (limits->high != kInfinity) add("at_most_f32", ", " + exact(limits->high));
}

}  // namespace halftone::export_c

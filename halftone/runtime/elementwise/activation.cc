// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/elementwise/activation.h"

#include <algorithm>
#include <cmath>

#include "halftone/kernels/activation/activation.h"

namespace halftone::runtime {
namespace {

/// Runs the vector function; false where there is none.
bool run_vector_function(const ir::Activation& activation, std::span<const float> x,
                         std::span<float> y) noexcept {
  switch (activation.kind) {
    case ir::ActivationKind::kIdentity:
      if (x.data() != y.data()) std::copy(x.begin(), x.end(), y.begin());
      return true;
    case ir::ActivationKind::kRelu:
      kernels::relu(x, y);
      return true;
    case ir::ActivationKind::kReluN1To1:
      kernels::clamp(x, -1, 1, y);
      return true;
    case ir::ActivationKind::kRelu6:
      kernels::clamp(x, 0, 6, y);
      return true;
    case ir::ActivationKind::kClip:
      if (!(activation.alpha <= activation.beta)) return false;
      kernels::clamp(x, activation.alpha, activation.beta, y);
      return true;
    case ir::ActivationKind::kLeakyRelu:
      kernels::leaky_relu(x, activation.alpha, y);
      return true;
    case ir::ActivationKind::kTanh:
      kernels::tanh(x, y);
      return true;
    case ir::ActivationKind::kSigmoid:
      kernels::sigmoid(x, y);
      return true;
    case ir::ActivationKind::kExp:
      kernels::exp(x, y);
      return true;
    case ir::ActivationKind::kElu:
      kernels::elu(x, activation.alpha, 1, y);
      return true;
    case ir::ActivationKind::kSelu:
      kernels::elu(x, activation.alpha, activation.beta, y);
      return true;
    case ir::ActivationKind::kHardSigmoid:
      kernels::hard_sigmoid(x, activation.alpha, activation.beta, y);
      return true;
    case ir::ActivationKind::kHardSwish:
      kernels::hard_swish(x, y);
      return true;
    case ir::ActivationKind::kSilu:
      kernels::silu(x, y);
      return true;
    case ir::ActivationKind::kSoftplus:
      kernels::softplus(x, y);
      return true;
    case ir::ActivationKind::kErf:
      kernels::erf(x, y);
      return true;
    case ir::ActivationKind::kGelu:
      kernels::gelu(x, y);
      return true;
    case ir::ActivationKind::kGeluTanh:
      kernels::gelu_tanh(x, y);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_vector_function(const ir::Activation& activation) {
  return run_vector_function(activation, {}, {});
}

void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y) noexcept {
  if (run_vector_function(activation, x, y)) return;
  std::transform(x.begin(), x.end(), y.begin(),
                 [&](float value) { return ir::apply(activation, value); });
}

std::function<float(float)> never_decreasing(const ir::Activation& activation) {
  const auto [kind, alpha, beta] = activation;
  const bool rises = alpha > 0 && std::isfinite(alpha) && std::isfinite(beta);
  switch (kind) {
    case ir::ActivationKind::kTanh:
      return kernels::tanh_reference;
    case ir::ActivationKind::kExp:
      return kernels::exp_reference;
    case ir::ActivationKind::kElu:
      if (!rises) return nullptr;
      return [slope = alpha](float x) { return kernels::elu_reference(x, slope, 1); };
    case ir::ActivationKind::kHardSigmoid:
      if (!rises) return nullptr;
      return [slope = alpha, shift = beta](float x) {
        return kernels::hard_sigmoid_reference(x, slope, shift);
      };
    case ir::ActivationKind::kLeakyRelu:
      if (!rises) return nullptr;
      break;
    case ir::ActivationKind::kClip:
      if (!(alpha <= beta)) return nullptr;
      break;
    case ir::ActivationKind::kRelu:
    case ir::ActivationKind::kReluN1To1:
    case ir::ActivationKind::kRelu6:
      break;
    default:
      return nullptr;
  }
  return [activation](float x) { return ir::apply(activation, x); };
}

}  // namespace halftone::runtime

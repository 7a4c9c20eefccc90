// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/activation.h"

#include <algorithm>

#include "halftone/kernels/activation.h"

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
  switch (activation.kind) {
    case ir::ActivationKind::kTanh:
      return kernels::tanh_reference;
    case ir::ActivationKind::kRelu:
    case ir::ActivationKind::kReluN1To1:
    case ir::ActivationKind::kRelu6:
      return [activation](float x) { return ir::apply(activation, x); };
    default:
      return nullptr;
  }
}

}  // namespace halftone::runtime

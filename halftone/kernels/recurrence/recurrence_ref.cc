// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "halftone/kernels/recurrence/recurrence.h"

namespace halftone::kernels {

void add_products_reference(std::span<const float> kernel, std::span<const float> x,
                            std::span<float> sum) noexcept {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += kernel[i] * x[i];
}

void step_states_reference(std::span<const float> decay, std::span<const float> x,
                           const StateFactors& factors, std::span<float> state,
                           std::span<float> y) noexcept {
  for (std::size_t i = 0; i < y.size(); ++i) {
    state[i] = state[i] * decay[i] + x[i] * factors.in;
    y[i] += factors.out * state[i];
  }
}

void decay_states_reference(float decay, float out, std::span<float> state,
                            std::span<float> y) noexcept {
  for (std::size_t i = 0; i < y.size(); ++i) {
    state[i] *= decay;
    y[i] += out * state[i];
  }
}

void change_states_reference(std::span<const float> x, float in, float out, std::span<float> state,
                             std::span<float> y) noexcept {
  for (std::size_t i = 0; i < y.size(); ++i) {
    state[i] += x[i] * in;
    y[i] += out * state[i];
  }
}

}  // namespace halftone::kernels

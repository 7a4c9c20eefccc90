// SPDX-License-Identifier: Apache-2.0
// One step of a recurrence for a run of channels. Each product and each sum is rounded, so that all
// targets give the same bits.
#pragma once

#include <span>

namespace halftone::kernels {

/// What a state takes of x, and y of a state.
struct StateFactors {
  float in = 0;
  float out = 0;
};

/// sum += kernel * x, number by number.
/// @param kernel, x  as long as sum
void add_products(std::span<const float> kernel, std::span<const float> x,
                  std::span<float> sum) noexcept;

/// state = state * decay + in x; y += out * state, with the new state.
/// @param decay, x, state  as long as y
void step_states(std::span<const float> decay, std::span<const float> x,
                 const StateFactors& factors, std::span<float> state, std::span<float> y) noexcept;

/// state = state * decay; y += out * state, with the new state.
/// @param state  as long as y
void decay_states(float decay, float out, std::span<float> state, std::span<float> y) noexcept;

/// state = state + x * in; y += out * state, with the new state.
/// @param x, state  as long as y
void change_states(std::span<const float> x, float in, float out, std::span<float> state,
                   std::span<float> y) noexcept;

/// Reference implementations in plain loops.
void add_products_reference(std::span<const float> kernel, std::span<const float> x,
                            std::span<float> sum) noexcept;
void step_states_reference(std::span<const float> decay, std::span<const float> x,
                           const StateFactors& factors, std::span<float> state,
                           std::span<float> y) noexcept;
void decay_states_reference(float decay, float out, std::span<float> state,
                            std::span<float> y) noexcept;
void change_states_reference(std::span<const float> x, float in, float out, std::span<float> state,
                             std::span<float> y) noexcept;

}  // namespace halftone::kernels

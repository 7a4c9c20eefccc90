// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of float rows.
//
// Each has the same result, bit for bit, on every target: that of its scalar reference. NaN gives
// the quiet NaN 0x7FC00000 in exp, sigmoid and tanh, and itself in the others. The bounds on the
// error are tested on two million arguments over the whole range of float32, and more densely where
// the functions bend.
#pragma once

#include <span>

namespace halftone::kernels {

// In all functions x and y have the same length and may be the same memory.

/// y = e^x, within 1.1 units in the last place (1.5e-45 where the result is denormal).
void exp(std::span<const float> x, std::span<float> y) noexcept;
/// y = 1 / (1 + e^-x), within 2.5 units in the last place (1.5e-45 where it is denormal).
void sigmoid(std::span<const float> x, std::span<float> y) noexcept;
/// y = tanh x, within 1.5 units in the last place and 9e-8; odd, monotone, and never outside [-1,
/// 1].
void tanh(std::span<const float> x, std::span<float> y) noexcept;
/// y = low where x < low, high where x > high, else x. ReLU6 is clamp to [0, 6]. @pre low <= high
void clamp(std::span<const float> x, float low, float high, std::span<float> y) noexcept;
/// y = 0 where x < 0, else x.
void relu(std::span<const float> x, std::span<float> y) noexcept;
/// y = slope x where x < 0, else x.
void leaky_relu(std::span<const float> x, float slope, std::span<float> y) noexcept;

/// y = slope x + shift, but 0 where that is less and 1 where it is more; both steps rounded.
void hard_sigmoid(std::span<const float> x, float slope, float shift, std::span<float> y) noexcept;
void hard_swish(std::span<const float> x, std::span<float> y) noexcept;
void silu(std::span<const float> x, std::span<float> y) noexcept;
void elu(std::span<const float> x, float alpha, float scale, std::span<float> y) noexcept;
void softplus(std::span<const float> x, std::span<float> y) noexcept;
void erf(std::span<const float> x, std::span<float> y) noexcept;
void gelu(std::span<const float> x, std::span<float> y) noexcept;
void gelu_tanh(std::span<const float> x, std::span<float> y) noexcept;

/// The definitions, for one number.
float exp_reference(float x);
float sigmoid_reference(float x);
float tanh_reference(float x);
float hard_sigmoid_reference(float x, float slope, float shift);
float hard_swish_reference(float x);
float silu_reference(float x);
float elu_reference(float x, float alpha, float scale);
float softplus_reference(float x);
float erf_reference(float x);
float gelu_reference(float x);
float gelu_tanh_reference(float x);

}  // namespace halftone::kernels

// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of float rows, and Softmax over the rows of a matrix.
//
// Each equals its scalar reference, bit for bit, on every target. NaN gives itself in clamp, relu
// and leaky_relu, itself with another sign in abs and negate, and the quiet NaN 0x7FC00000 in the
// others. Errors are in units in the last place
// (ulp) of the exact result; an ulp is at least 2^-149, or 1.4e-45, the ulp of denormal results.
// The bounds are tested on two million arguments over the whole range of float32, and more densely
// where the functions bend.
#pragma once

#include <span>

#include "halftone/base/view.h"

namespace halftone::kernels {

// In all functions x and y have the same length and may be the same memory.

/// y = e^x, within 1.1 ulp; monotone.
void exp(std::span<const float> x, std::span<float> y) noexcept;
/// y = 1 / (1 + e^-x), within 2.5 ulp.
void sigmoid(std::span<const float> x, std::span<float> y) noexcept;
/// y = tanh x, within 1.5 ulp and 9e-8; odd, monotone, and never outside [-1, 1].
void tanh(std::span<const float> x, std::span<float> y) noexcept;
/// y = low where x < low, high where x > high, else x. ReLU6 is clamp to [0, 6]. @pre low <= high
void clamp(std::span<const float> x, float low, float high, std::span<float> y) noexcept;
/// y = 0 where x < 0, else x.
void relu(std::span<const float> x, std::span<float> y) noexcept;
/// y = slope x where x < 0, else x.
void leaky_relu(std::span<const float> x, float slope, std::span<float> y) noexcept;

/// y = min(max(slope x + shift, 0), 1); product and sum are rounded.
void hard_sigmoid(std::span<const float> x, float slope, float shift, std::span<float> y) noexcept;
/// y = x min(max(x + 3, 0), 6) / 6, within 3 ulp; -0 at -infinity.
void hard_swish(std::span<const float> x, std::span<float> y) noexcept;
/// y = x / (1 + e^-x), within 3.5 ulp; -0 at -infinity.
void silu(std::span<const float> x, std::span<float> y) noexcept;
/// y = scale x where x >= 0, scale alpha (e^x - 1) where x < 0. The difference is within 1.2 ulp;
/// each product after it is rounded. Monotone if neither alpha nor scale is negative.
/// @param alpha, scale  finite
void elu(std::span<const float> x, float alpha, float scale, std::span<float> y) noexcept;
/// y = log(1 + e^x), within 3.5 ulp.
void softplus(std::span<const float> x, std::span<float> y) noexcept;
/// y = erf x, within 1.6 ulp and 1e-7; odd, and never outside [-1, 1].
void erf(std::span<const float> x, std::span<float> y) noexcept;
/// y = x (1 + erf(x / sqrt 2)) / 2, within 8 ulp to the end of the tail (8e-8 where x < 0), 5 ulp
/// where x >= 0; -0 at -infinity.
void gelu(std::span<const float> x, std::span<float> y) noexcept;
/// y = x (1 + tanh(v / 2)) / 2 with v = sqrt(8 / pi) (x + 0.044715 x^3), within 2.2 ulp where
/// x >= 0, within 2.5 |v| + 3 ulp (and 6e-8) where x < 0; -0 at -infinity.
void gelu_tanh(std::span<const float> x, std::span<float> y) noexcept;

/// y = |x|.
void abs(std::span<const float> x, std::span<float> y) noexcept;
/// y = -x.
void negate(std::span<const float> x, std::span<float> y) noexcept;
/// y = x x, rounded.
void square(std::span<const float> x, std::span<float> y) noexcept;
/// y = sqrt x, rounded; NaN where x < 0.
void sqrt(std::span<const float> x, std::span<float> y) noexcept;

/// Scalar reference implementations.
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

/// y[r, c] = e_c / (e_0 + ... + e_(n-1)) with e_c = exp(x[r, c] - max of the row), exp as in
/// activation.h. The sum does not depend on the vector length: term c is added to partial sum
/// c mod 16, in ascending order; then partial sum l + h is added to partial sum l, for
/// h = 8, 4, 2, 1. A row with NaN, with +infinity, or with only -infinity becomes NaN.
/// Otherwise y[r, c] is within 1.5e-45 of the exact quotient or, relatively, within
/// (|x[r, c] - max of the row| + ln n + n / 16 + 10) 2^-24: the differences are rounded, their
/// average with the weights y is at most ln n, and up to n / 16 + 4 terms are added one after
/// another.
/// @param x  [m, n]
/// @param y  [m, n]; may be the memory of x
void softmax(MatrixView<const float> x, MatrixView<float> y) noexcept;

/// Reference implementation of softmax() in plain loops.
void softmax_reference(MatrixView<const float> x, MatrixView<float> y) noexcept;

}  // namespace halftone::kernels

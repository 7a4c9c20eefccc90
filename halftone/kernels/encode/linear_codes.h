// SPDX-License-Identifier: Apache-2.0
// 8-bit codes q of evenly spaced numbers, scale (q - zero_point): to and from float32, and
// functions of two codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/kernels/encode/requantize.h"

namespace halftone::kernels {

/// What codes mean: scale (q - zero_point).
struct CodeScale {
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// How float32 becomes codes: q = min(max(round(x / scale) + zero_point, low), high) in float32.
/// NaN becomes 0.
struct CodeRounder {
  float scale = 1;
  CodeBounds bounds;
  bool half_away = false;  ///< ties away from zero instead of to even
};

/// @param q  [n] as x, of a type that holds the bounds
void quantize_linear(std::span<const float> x, const CodeRounder& how,
                     std::span<std::int8_t> q) noexcept;
void quantize_linear(std::span<const float> x, const CodeRounder& how,
                     std::span<std::uint8_t> q) noexcept;

/// x = scale (q - zero_point) in float32. @param x  [n] as q
void dequantize_linear(std::span<const std::int8_t> q, CodeScale scale,
                       std::span<float> x) noexcept;
void dequantize_linear(std::span<const std::uint8_t> q, CodeScale scale,
                       std::span<float> x) noexcept;

/// The codes of uint8 as int8: q - 128. @param y  [n] as q
void as_signed(std::span<const std::uint8_t> q, std::span<std::int8_t> y) noexcept;

enum class PairKind : std::uint8_t { kSum, kDifference, kProduct };

/// The code of a function f of two numbers in float32: min(max(f(x_a, x_b), low), high), rounded.
struct FloatPair {
  PairKind kind = PairKind::kSum;
  CodeScale a;
  CodeScale b;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  CodeRounder y;
};

/// @param a, b  [n] codes, or one that all have in common
/// @param q     [n]
void combine_codes(std::span<const std::int8_t> a, std::span<const std::int8_t> b,
                   const FloatPair& how, std::span<std::int8_t> q) noexcept;
void combine_codes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   const FloatPair& how, std::span<std::uint8_t> q) noexcept;

/// Reference implementations in plain loops, of one element.
std::int32_t quantized_reference(float x, const CodeRounder& how) noexcept;
std::int32_t combined_reference(std::int32_t a, std::int32_t b, const FloatPair& how) noexcept;

}  // namespace halftone::kernels

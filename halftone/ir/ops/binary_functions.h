// SPDX-License-Identifier: Apache-2.0
// The binary functions that loops inline: the definitions behind rows of binary_table().
#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone::ir {

/// function(a, b) of float32; of integers it wraps around, computed in 64 unsigned bits.
template <typename T, typename Function>
constexpr T wrapped(T a, T b, Function&& function) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return function(a, b);
  }
}

template <typename T>
constexpr T add_pair(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x + y; });
}

template <typename T>
constexpr T subtract_pair(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x - y; });
}

template <typename T>
constexpr T multiply_pair(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x * y; });
}

constexpr float divide_pair(float a, float b) { return a / b; }

/// a < 0 ? a b : a
template <typename T>
constexpr T prelu_pair(T a, T b) {
  return a < T{0} ? multiply_pair(a, b) : a;
}

}  // namespace halftone::ir

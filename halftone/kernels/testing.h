// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of this module. Only tests include this.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halftone::kernels {

/// For comparisons to the last bit, including NaN and signs of zero.
inline std::vector<std::uint32_t> bit_patterns(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}
inline std::vector<std::uint64_t> bit_patterns(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

/// [rows, inputs] times the transpose of [outputs, inputs].
struct MatmulExtents {
  std::size_t rows;
  std::size_t inputs;
  std::size_t outputs;
};

}  // namespace halftone::kernels

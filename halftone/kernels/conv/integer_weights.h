// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone::kernels {

/// Weights of 8 bits with a zero point for each output. Refers to its parts.
struct IntegerWeights {
  std::span<const std::byte> codes;         ///< [outputs, inputs of an output], int8 or uint8
  bool is_signed = true;                    ///< whether they are int8
  std::span<const std::int32_t> zeros;      ///< [outputs] zero points
  std::span<const std::int32_t> bias = {};  ///< [outputs], or empty for none

  [[nodiscard]] int lowest() const { return is_signed ? -128 : 0; }
  [[nodiscard]] std::int32_t bias_of(std::size_t output) const {
    return bias.empty() ? 0 : bias[output];
  }
  /// The code at an index of `codes`.
  [[nodiscard]] int code(std::size_t i) const {
    const int byte = std::to_integer<int>(codes[i]);
    return is_signed && byte > 127 ? byte - 256 : byte;
  }
};

}  // namespace halftone::kernels

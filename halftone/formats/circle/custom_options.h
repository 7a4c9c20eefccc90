// SPDX-License-Identifier: Apache-2.0
// The custom operator for a FullyConnected in a basis, and its options.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/numerics/encoding.h"

namespace halftone::formats::circle {

/// The custom_code of the operator
///
///     y[.., o] = activation(sum_k x[.., k] w[o, k] + bias[o])
///
/// with inputs
///     0  x, float32 [.., n]
///     1  basis of the activations [Kx], or [Kx + 1] with the offset last; absent: x stays float
///     2  bases of the weights [num_bases, Kw], or [num_bases, Kw + 1]; absent: float weights
///     3  bit planes of the weights, uint8 [o, Kw, ceil(n / 8)], bit c of a row is bit c mod 8 of
///        byte c / 8; or float32 weights [o, n]
///     4  bias, float32 [o], or absent
/// Bases are float16 where that holds every number exactly, else float32.
inline constexpr std::string_view kCustomName = "HalftoneFullyConnected";

/// Its options: a FlexBuffers map with these names as keys, and "version": 1.
struct CustomOptions {
  std::size_t inputs = 0;   ///< n
  int weight_bits = 0;      ///< Kw; 0: float weights
  int activation_bits = 0;  ///< Kx; 0: float input
  bool weight_offset = false;
  bool activation_offset = false;
  numerics::Granularity granularity = numerics::Granularity::kTensor;  ///< of the weights
  std::size_t group_size = 0;
  int activation = 0;  ///< as TFLite numbers fused activations, 0 to 5

  bool operator==(const CustomOptions&) const = default;
};

std::vector<std::byte> write_custom_options(const CustomOptions& options);

/// @throws Error kFormat if the bytes are no such map or a number is out of range; kUnsupported if
///         the version is not 1
CustomOptions read_custom_options(std::span<const std::byte> bytes);

}  // namespace halftone::formats::circle

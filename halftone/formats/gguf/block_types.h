// SPDX-License-Identifier: Apache-2.0
// The tensor types of GGUF: blocks of codes that share scales.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace halftone::formats {

/// Elements of the longest block.
inline constexpr std::size_t kMaxGgufBlock = 256;

/// A block as the numbers that it represents: element i of group g = i / group is
///
///     scales[g] * codes[i] + offsets[g]
///
/// in float32, the product rounded before the sum; without offsets there is no sum.
struct GgufBlock {
  std::array<std::int8_t, kMaxGgufBlock> codes;
  std::array<float, kMaxGgufBlock / 16> scales;
  std::array<float, kMaxGgufBlock / 16> offsets;
};

/// A tensor type. Numbers of one element per block (F32, F16, ...) have no codes.
struct GgufType {
  std::uint32_t id = 0;  ///< as files say it
  std::string_view name;
  std::size_t block = 1;        ///< elements of a block
  std::size_t block_bytes = 0;  ///< with scales
  std::size_t group = 0;        ///< elements that share a scale; 0: not codes, or not known here
  bool has_offsets = false;
  /// Unpacks a block of `block_bytes`; null where `group` is 0.
  void (*unpack)(const std::byte* bytes, GgufBlock& block) = nullptr;

  /// Bits of an element, with its share of the scales.
  [[nodiscard]] double bits() const {
    return 8 * static_cast<double>(block_bytes) / static_cast<double>(block);
  }
};

/// All types that have a size, by id.
std::span<const GgufType> gguf_types();
/// The type of this id; null if there is none.
const GgufType* gguf_type(std::uint32_t id);

/// The elements of a tensor as float32, bit for bit those of the package `gguf` on PyPI.
/// @param bytes   blocks
/// @param values  [blocks * type.block]
/// @throws Error kUnsupported if Halftone does not decode this type; kShape if the sizes differ
void decode_gguf(const GgufType& type, std::span<const std::byte> bytes, std::span<float> values);

}  // namespace halftone::formats

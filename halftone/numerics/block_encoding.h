// SPDX-License-Identifier: Apache-2.0
// Codes in blocks that hold their scales, as files of language models store weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "halftone/numerics/group_codes.h"

namespace halftone::numerics {

/// Elements of the longest block.
inline constexpr std::size_t kMaxBlock = 256;

/// Where a block puts the numbers that it represents: element i of group g = i / group is
///
///     scales[g] * codes[i] + offsets[g]
///
/// in float32, the product rounded before the sum; without offsets there is no sum.
struct CodeBlock {
  std::int8_t* codes;
  float* scales;
  float* offsets;  ///< not used where there are none
};

/// The numbers of a block that is to be written: element i of group g = i / group is
///
///     (scale_factor * scales[g]) * codes[i] + offset_factor * offsets[g]
///
/// @see GroupScales for what the type of a block holds
struct BlockNumbers {
  const std::int8_t* codes = nullptr;  ///< [block] levels
  /// [groups] kHalf: float16, without a factor; kHalfTimesByte: integers from min_scale to
  /// max_scale.
  const float* scales = nullptr;
  /// [groups] kHalf: float16; kHalfTimesByte: integers from 0 to max_offset. Not used where there
  /// are none.
  const float* offsets = nullptr;
  float scale_factor = 1;   ///< kHalfTimesByte: a float16
  float offset_factor = 1;  ///< likewise; of K types it is at most 0: the opposite of their dmin
};

/// How a row of numbers is stored: block after block of `block` elements. Codes have groups; blocks
/// of one element without a group are numbers, such as float16.
struct BlockEncoding : GroupCodes {
  std::string_view name;
  std::size_t block = 1;        ///< elements of a block
  std::size_t block_bytes = 0;  ///< with scales
  /// Unpacks a block of `block_bytes` of this encoding; null where `group` is 0.
  void (*unpack)(const BlockEncoding& encoding, const std::byte* bytes,
                 const CodeBlock& block) = nullptr;
  /// A block of one element; null where there is none, or it is no floating-point number.
  float (*number)(const std::byte* bytes) = nullptr;
  /// The elements of a block whose codes mean other numbers than int8; else null.
  void (*decode)(const BlockEncoding& encoding, const std::byte* bytes, float* values) = nullptr;
  /// Packs a block: the inverse of `unpack`. Null where Halftone does not write the type.
  /// @throws Error kInternal if there is a number that the type does not hold
  void (*pack)(const BlockEncoding& encoding, const BlockNumbers& numbers,
               std::byte* bytes) = nullptr;

  /// Bits of an element, with its share of the scales.
  [[nodiscard]] double bits() const {
    return 8 * static_cast<double>(block_bytes) / static_cast<double>(block);
  }
  /// Bytes of so many elements. @pre a multiple of the block
  [[nodiscard]] std::size_t bytes_of(std::size_t elements) const {
    return elements / block * block_bytes;
  }
  [[nodiscard]] bool can_decode() const {
    return unpack != nullptr || number != nullptr || decode != nullptr;
  }
  /// Whether the same bytes mean the same: compares what the encodings hold, not where they are.
  bool operator==(const BlockEncoding& other) const;
};

/// An encoding with an owner: those of a program's tables have none, those of a model share theirs.
using SharedBlockEncoding = std::shared_ptr<const BlockEncoding>;
/// An encoding that lives as long as the program.
inline SharedBlockEncoding without_owner(const BlockEncoding& encoding) {
  return {SharedBlockEncoding(), &encoding};
}
/// Whether both are null, or equal.
bool are_equal(const SharedBlockEncoding& a, const SharedBlockEncoding& b);

/// The elements of blocks as float32.
/// @param bytes   blocks
/// @param values  [blocks * encoding.block]
/// @throws Error kUnsupported unless encoding.can_decode(); kShape if the sizes differ
void decode_blocks(const BlockEncoding& encoding, std::span<const std::byte> bytes,
                   std::span<float> values);

}  // namespace halftone::numerics

// SPDX-License-Identifier: Apache-2.0
// Codes of two precisions: the first bits of a code are a code too.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "halftone/numerics/block_encoding.h"

namespace halftone::numerics {

/// Codes of 4 bits whose first three bits are codes of 3: with t = -4 ... 3 named by these, and one
/// scale for both,
///
///     3 bits   scale t
///     4 bits   (scale / 4) (4 t - 1), or 4 t + 1 if the fourth bit is set
///
/// so that a level of 3 bits is the centre of the two of 4 bits that share its bits. The blocks of
/// 3 bits are those of the number system int3/64. A block of both is such a block and 8 bytes of
/// fourth bits behind it, the lowest bits of a byte first: 4.25 bits a weight. Code 2 k + b has the
/// three bits k and the fourth bit b.
inline constexpr std::string_view kNestedName = "nested3+4";
inline constexpr std::size_t kFirstBits = 3;
inline constexpr std::size_t kAllBits = 4;

/// The encoding of 4 bits, which lives as long as the program.
const BlockEncoding& nested_encoding();
/// That of the first three bits.
const BlockEncoding& first_bits_encoding();

/// Bytes of fourth bits of a block.
inline constexpr std::size_t kFourthBitsBytes = 8;

/// Blocks of both parts.
/// @param first   blocks of first_bits_encoding()
/// @param fourth  kFourthBitsBytes for each of them
/// @param blocks  for as many blocks of nested_encoding()
void join_nested(std::span<const std::byte> first, std::span<const std::byte> fourth,
                 std::span<std::byte> blocks);
/// The inverse.
void split_nested(std::span<const std::byte> blocks, std::span<std::byte> first,
                  std::span<std::byte> fourth);

}  // namespace halftone::numerics

// SPDX-License-Identifier: Apache-2.0
// Blocks of codes whose values are entries of published grids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/numerics/block_encoding.h"

namespace halftone::formats {

/// Words of `length` levels each. In IQ2 and IQ3 levels are magnitudes, whose signs are beside the
/// codes; in IQ1 they are -1, 0 and 1.
struct CodeGrid {
  std::size_t length = 0;
  std::vector<std::int8_t> levels;  ///< [words, length]

  [[nodiscard]] std::span<const std::int8_t> word(std::size_t index) const {
    return std::span(levels).subspan(index * length, length);
  }
};

enum class GridName : std::uint8_t {
  kIq2Xxs,  ///< 256 words of 8
  kIq2Xs,   ///< 512 words of 8
  kIq2S,    ///< 1024 words of 8
  kIq3Xxs,  ///< 256 words of 4
  kIq3S,    ///< 512 words of 4
  kIq1,     ///< 2048 words of 8
};

const CodeGrid& code_grid(GridName name);

// Values of numerics::BlockEncoding::unpack. Source: PyPI's gguf, quants.py.

/// 32 weights: 4 indices of a byte, then 4 signs of 7 bits and a scale of 4 bits s; d (2s + 1) / 8.
void unpack_iq2_xxs(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);
/// 8 weights: an index of 9 bits and signs of 7; scales of 4 bits for 16 weights.
void unpack_iq2_xs(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);
/// 8 weights: an index of 8 + 2 bits and 8 signs; scales of 4 bits for 16 weights.
void unpack_iq2_s(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);
/// 32 weights: 8 indices of a byte, 4 signs of 7 bits and a scale of 4 bits s; d (2s + 1) / 4.
void unpack_iq3_xxs(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);
/// 4 weights: an index of 8 + 1 bits and 4 signs; scales of 4 bits s for 32 weights, d (2s + 1).
void unpack_iq3_s(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);
/// 8 weights: an index of 8 + 3 bits. 32 weights: a scale of 3 bits s, and the sign of an eighth
/// that is added to all levels. Codes are eight times their sum, scales d (2s + 1) / 8.
void unpack_iq1_s(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);
/// The same with the sign for 8 weights and scales for 16; d is spread over the block.
void unpack_iq1_m(const numerics::BlockEncoding&, const std::byte*, const numerics::CodeBlock&);

}  // namespace halftone::formats

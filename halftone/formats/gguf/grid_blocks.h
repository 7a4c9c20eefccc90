// SPDX-License-Identifier: Apache-2.0
// Blocks of 256 whose codes are indices of grids, as GGUF's types IQ1, IQ2 and IQ3 have them.
#pragma once

#include <cstddef>

#include "halftone/numerics/block_encoding.h"

namespace halftone::formats {

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

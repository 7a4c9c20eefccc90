// SPDX-License-Identifier: Apache-2.0
// Where the float16 numbers of blocks lie.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/numerics/block_encoding.h"

namespace halftone::formats {

/// The first bytes of the float16 numbers that a block of GGUF holds: of its scale and then its
/// offset, or of their factors. What the block represents is linear in them. None for types without
/// such numbers, of which MXFP4 and NVFP4 are two.
std::span<const std::size_t> halves_of(const numerics::BlockEncoding& encoding);

}  // namespace halftone::formats

// SPDX-License-Identifier: Apache-2.0
// bit_conv() for the layouts of the weights. Arguments as there.
#pragma once

#include <cstdint>

#include "halftone/kernels/conv/bit_conv.h"

namespace halftone::kernels {

/// For BitConvLayout::kTables.
void bit_conv_tables(const std::uint64_t* x, const BitConvWeights& weights,
                     const ConvPart& part) noexcept;

/// For BitConvLayout::kSixes and kFours.
void bit_conv_permutes(const std::uint64_t* x, const BitConvWeights& weights,
                       const ConvPart& part) noexcept;

/// Whether the current target looks up 64 entries of 8 bits at once.
bool permutes_bytes() noexcept;

}  // namespace halftone::kernels

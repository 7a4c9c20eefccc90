// SPDX-License-Identifier: Apache-2.0
// bit_matmul() for each layout of the weights. Arguments as there.
#pragma once

#include "halftone/kernels/bit_matmul/bit_matmul.h"

namespace halftone::kernels {

void bit_matmul_words(const std::uint64_t* x, const numerics::Basis& x_basis,
                      const BitMatmulWeights& weights, BlockRange blocks,
                      MatrixView<float> y) noexcept;

void bit_matmul_lookup(const std::uint64_t* x, const numerics::Basis& x_basis,
                       const BitMatmulWeights& weights, BlockRange blocks,
                       MatrixView<float> y) noexcept;

/// Whether the current target counts bits by looking them up.
bool lookup_beats_popcount() noexcept;

}  // namespace halftone::kernels

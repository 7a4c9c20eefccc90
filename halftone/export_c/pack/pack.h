// SPDX-License-Identifier: Apache-2.0
// Weights in the words that the kernels of text/ read. Pure functions: no graph, no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/export_c/pack/kernel_costs.h"
#include "halftone/numerics/basis.h"
#include "halftone/numerics/encoding.h"

namespace halftone::export_c {

/// Words for one kernel.
struct PackedWeights {
  Kernel kernel = Kernel::kBits;
  std::vector<std::uint32_t> words;
};

/// Upper bound of inputs for kSigns and kPlanes, whose counts of ones are stored in 16 bits.
inline constexpr std::size_t kMaxCountedInputs = 32767;

/// Bit planes, 32 inputs to a word: [outputs, planes, words].
PackedWeights pack_bits(const numerics::BitPlanes& codes);

/// The columns of kSigns and of kPlanes: the planes of output 0, those of output 1, ..., and zeros
/// up to a multiple of four.
std::size_t padded_columns(const numerics::BitPlanes& codes);

/// @throws Error kUnsupported if there are more than kMaxCountedInputs
PackedWeights pack_signs(const numerics::BitPlanes& codes);
PackedWeights pack_planes(const numerics::BitPlanes& codes);

/// For kDigits2: codes of at most 2 bits are the numbers that are multiplied.
PackedWeights pack_digits_2(const numerics::BitPlanes& codes);

/// Weights for inputs of bits, of kBits, kSigns and kPlanes for the one with the fewest
/// instructions(). kSigns needs digits of a plane each, and kPlanes digits of at most 7.
/// @param digits    sums of bit planes of the inputs that are multiplied together
/// @param x_planes  bit planes of the inputs
PackedWeights pack_digits(const numerics::BitPlanes& codes, std::span<const numerics::Digit> digits,
                          std::size_t x_planes, Core core = Core::kM4);

/// Weights for inputs of 8 bits: the integers 2 u - steps of kernels::weight_grid(). Of kLevels1,
/// kLevels2, kLevels11, kLevels4 and kLevelTable, those that can hold the levels of all rows, it
/// takes the one with the fewest instructions().
/// @param encoding  of `codes`; granularity tensor or channel
/// @throws Error kUnsupported if codes have more than 4 bits or granularity is group
PackedWeights pack_levels(const numerics::BitPlanes& codes,
                          const numerics::MatrixEncoding& encoding, Core core = Core::kM4);

/// The same for one of these kernels.
/// @return nothing if it cannot hold the levels
std::optional<PackedWeights> pack_levels_for(Kernel kernel, const numerics::BitPlanes& codes,
                                             const numerics::MatrixEncoding& encoding);

/// @param weights  [outputs, inputs]
PackedWeights pack_bytes(MatrixView<const std::int8_t> weights);

}  // namespace halftone::export_c

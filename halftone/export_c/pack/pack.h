// SPDX-License-Identifier: Apache-2.0
// Weights in the words that the kernels of text/ read. Pure functions: no graph, no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::export_c {

/// The kernels that multiply weights of many inputs with those of one output position. Each is a
/// file of text/, whose comment says how its weights lie.
enum class Kernel : std::uint8_t {
  kBits,        ///< planes by planes: counts of differing bits
  kSigns,       ///< a plane by planes, eight products of a multiplication
  kPlanes,      ///< digits by planes, four products of a multiplication
  kLevels1,     ///< 8 bits by two levels, two products of a multiplication
  kLevels11,    ///< 8 bits by the four sums of two coefficients
  kLevels2,     ///< 8 bits by four evenly spaced levels
  kLevels4,     ///< 8 bits by up to 16 evenly spaced levels
  kLevelTable,  ///< 8 bits by up to 16 levels of any kind
  kBytes,       ///< 8 bits by bytes
};

/// "levels_1": the stem of its file; the function is "ht_levels_1".
std::string_view name_of(Kernel kernel);

/// Words for one kernel.
struct PackedWeights {
  Kernel kernel = Kernel::kBits;
  std::vector<std::uint32_t> words;
};

/// Upper bound of inputs for kSigns and kPlanes, whose counts of ones are stored in 16 bits.
inline constexpr std::size_t kMaxCountedInputs = 32767;

/// Bit planes as they are, in words of 32 inputs: [outputs, planes, words].
PackedWeights pack_bits(const numerics::BitPlanes& codes);

/// The columns of kSigns and of kPlanes are the planes of output 0, those of output 1, ..., and
/// zeros up to a multiple of four.
/// @throws Error kUnsupported if there are more than kMaxCountedInputs
PackedWeights pack_signs(const numerics::BitPlanes& codes);
PackedWeights pack_planes(const numerics::BitPlanes& codes);

/// Weights for inputs of 8 bits: the integers 2 u - steps of kernels::weight_grid(), in the first of
/// kLevels1, kLevels2, kLevels11, kLevels4 and kLevelTable that can hold the levels of all rows.
/// @param encoding  of `codes`; granularity tensor or channel
/// @throws Error kUnsupported if codes have more than 4 bits or granularity is group
PackedWeights pack_levels(const numerics::BitPlanes& codes,
                          const numerics::MatrixEncoding& encoding);

/// @param weights  [outputs, inputs]
PackedWeights pack_bytes(MatrixView<const std::int8_t> weights);

}  // namespace halftone::export_c

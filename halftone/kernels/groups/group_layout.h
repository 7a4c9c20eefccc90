// SPDX-License-Identifier: Apache-2.0
// What kernels know of weights in groups: their codes, extents and stored scales.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/numerics/group_codes.h"

namespace halftone::kernels {

using numerics::GroupCodes;
using numerics::GroupScales;

/// Refuses what no kernel takes: codes of other than 1, 2, 3, 4, 5, 6 or 8 bits, groups of other
/// than 16, 32, 64, 128 or 256 inputs, levels beyond int8; with a basis, other groups than of 64
/// inputs.
/// @throws Error kUnsupported
void check_groups(const GroupCodes& codes);

/// Rows of a strip of packed weights, and inputs of its blocks and units.
inline constexpr std::size_t kStripRows = 64;
inline constexpr std::size_t kGroupBlockInputs = 256;
inline constexpr std::size_t kGroupUnitInputs = 32;

/// How the inputs of a row are divided. Missing inputs of the last group and unit are zero.
///
///     encoding: inputs that are rounded to int8 with one scale
///     piece:    the smaller of encoding and group; its products have an exact integer sum
struct GroupExtents {
  std::size_t cols = 0;
  std::size_t group = 0;
  std::size_t vector = 1;  ///< inputs whose weights share a code

  [[nodiscard]] std::size_t encoding() const { return group < 64 ? 32 : 64; }
  [[nodiscard]] std::size_t piece() const { return std::min(group, encoding()); }
  /// Inputs up to the end of the last group and of the last unit.
  [[nodiscard]] std::size_t padded_cols() const {
    const std::size_t multiple = std::max(group, kGroupUnitInputs);
    return (cols + multiple - 1) / multiple * multiple;
  }
  [[nodiscard]] std::size_t num_groups() const { return (cols + group - 1) / group; }
  [[nodiscard]] std::size_t num_pieces() const { return padded_cols() / piece(); }
  [[nodiscard]] std::size_t num_blocks() const {
    return (padded_cols() + kGroupBlockInputs - 1) / kGroupBlockInputs;
  }
  /// Where the code of an input lies among those of encoded rows. A kernel gets four numbers of one
  /// index in their codewords at a time: of each 4 d inputs the first of every d, then the second.
  [[nodiscard]] std::size_t place(std::size_t input) const {
    const std::size_t within = input % (4 * vector);
    return input - within + within % vector * 4 + within / vector;
  }
  /// Inputs of block `b`, a multiple of the group and of the unit.
  [[nodiscard]] std::size_t block_inputs(std::size_t b) const {
    return std::min(kGroupBlockInputs, padded_cols() - b * kGroupBlockInputs);
  }
};

/// How scales are stored, with the factor of those that a tensor multiplies.
struct ScaleForm {
  GroupScales how = GroupScales::kHalf;
  float factor = 1;
};

/// Bytes of the scales of a block with so many groups, for all 64 rows.
std::size_t group_scale_bytes(GroupScales how, std::size_t groups);

/// Stores the scales of row `row` of a strip.
/// @param to  group_scale_bytes()
/// @return    whether the stored bytes give all scales exactly
bool store_group_scales(const ScaleForm& storage, std::span<const float> scales, std::size_t row,
                        std::uint8_t* to);

/// The scales that store_group_scales() stored.
void load_group_scales(const ScaleForm& storage, const std::uint8_t* from, std::size_t row,
                       std::span<float> scales);

}  // namespace halftone::kernels

// SPDX-License-Identifier: Apache-2.0
// What kernels know of weights in groups: their codes, how scales are stored, and extents.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "halftone/numerics/vector_basis.h"

namespace halftone::kernels {

/// How the scales of groups, and their offsets, are stored in packed weights. Every way gives the
/// float32 back that was packed, except for the sign of zero.
enum class GroupScales {
  kHalf,           ///< float16
  kHalfTimesByte,  ///< float16 of 256 inputs, times int8 of the group
  kPowerOfTwo,     ///< 2^e, e from -126 to 127, or zero, in a byte
  kE3m5,           ///< a byte of e3m5, times a float32 of the matrix
  kFloat,          ///< float32
};

/// Weights in groups: weight i of a row is, with g = i / group,
///
///     scale[g] * level(code[i]) + offset[g]
///
/// where level(c) is levels[c] if there are levels, else first_level + c step, of int8. The step is
/// 2 for codes of one bit and 1 for others. With a basis, neighbouring weights share a code:
/// `bits`, `first_level` and `levels` are not used, and the levels are the numbers of its codeword.
struct GroupFormat {
  int bits = 4;            ///< of a code: 1, 2, 3, 4, 5, 6 or 8
  std::size_t group = 32;  ///< inputs that share a scale: 16, 32, 64, 128 or 256
  bool has_offsets = false;
  int first_level = 0;                                               ///< of code 0
  std::optional<std::array<std::int8_t, 16>> levels = std::nullopt;  ///< for 4 bits only
  GroupScales scales = GroupScales::kHalf;  ///< packing takes kFloat if these are not exact
  std::shared_ptr<const numerics::VectorBasis> basis{};  ///< or null; in groups of 64 inputs
  float factor = 1;                                      ///< of scales of kE3m5

  /// Weights that share a code.
  [[nodiscard]] std::size_t vector() const {
    return basis == nullptr ? 1 : static_cast<std::size_t>(basis->numbers());
  }
  [[nodiscard]] int code_bits() const { return basis == nullptr ? bits : basis->signs(); }

  [[nodiscard]] int level_step() const { return bits == 1 ? 2 : 1; }
  [[nodiscard]] int level(std::size_t code) const {
    return levels ? (*levels)[code] : first_level + static_cast<int>(code) * level_step();
  }
  /// Refuses what no kernel takes.
  /// @throws Error kUnsupported
  void check() const;
};

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

}  // namespace halftone::kernels

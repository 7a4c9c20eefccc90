// SPDX-License-Identifier: Apache-2.0
// What codes in groups mean, whatever stores them: files, fits and kernels read this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halftone/numerics/stored_numbers.h"

namespace halftone::numerics {

class VectorBasis;

/// The levels of codes, of int8: level(c) = table[c], or first + c step, where the step of 1 bit is
/// 2 and that of more bits is 1.
struct CodeLevels {
  int bits = 0;
  int first = 0;
  std::optional<std::array<std::int8_t, 16>> table{};  ///< of codes of 4 bits

  [[nodiscard]] constexpr int step() const { return bits == 1 ? 2 : 1; }
  [[nodiscard]] constexpr int level(std::size_t code) const {
    return table ? (*table)[code] : first + static_cast<int>(code) * step();
  }
  bool operator==(const CodeLevels&) const = default;
};

/// How the scales of groups, and their offsets, are stored.
enum class GroupScales : std::uint8_t {
  kHalf,           ///< float16
  kHalfTimesByte,  ///< a float16 that `share` weights have in common, times an integer of the group
  kPowerOfTwo,     ///< 2^e, e from -126 to 127, or zero, in a byte
  kE3m5,           ///< a byte of e3m5, times a float32 that a tensor shares
  kE4m3,           ///< a byte of e4m3 without its sign, times a float32 that a tensor shares
  kFloat,          ///< float32
};

/// Whether all scales of a tensor share a factor: kE3m5 and kE4m3.
constexpr bool has_tensor_factor(GroupScales scales) {
  return scales == GroupScales::kE3m5 || scales == GroupScales::kE4m3;
}
/// The numbers that the factor of a tensor multiplies. @pre has_tensor_factor()
constexpr NumberType factored_type(GroupScales scales) {
  return scales == GroupScales::kE3m5 ? NumberType::kE3m5 : NumberType::kE4m3;
}

/// What the codes of a row mean. Weight i is, with g = i / group,
///
///     scale[g] * level(code[i]) + offset[g]
///
/// in float32, the product rounded before the sum; without offsets there is no sum. With a basis, d
/// neighbouring weights share a code, and the levels are the numbers of its codeword.
struct GroupCodes {
  CodeLevels levels{};    ///< not used with a basis
  std::size_t group = 0;  ///< weights that share a scale; 0: not codes, or not known here
  bool has_offsets = false;
  GroupScales scales = GroupScales::kHalf;
  // The integers of kHalfTimesByte.
  std::size_t share = 0;  ///< weights that share a float16: whole groups
  int min_scale = 0;      ///< below zero if scales have a sign
  int max_scale = 0;
  int max_offset = 0;  ///< the least one is 0
  float factor = 1;    ///< of the scales of kE3m5 and kE4m3
  /// What fits choose from in place of `levels`, ascending; empty: the same. Where codes have
  /// levels of int8, `levels` has all of these, and kernels store the codes of `levels`. Who holds
  /// the codes keeps them: SystemEncoding.
  std::span<const float> numbers{};
  /// Or null. Who holds the codes keeps it: VectorEncoding, kernels::PackedGroups.
  const VectorBasis* basis = nullptr;

  /// Weights that share a code: 1, or d.
  [[nodiscard]] std::size_t vector() const;
  [[nodiscard]] int code_bits() const;
  [[nodiscard]] std::size_t num_codewords() const {
    return numbers.empty() ? std::size_t{1} << code_bits() : numbers.size();
  }
  /// The levels of all codes, [num_codewords, vector].
  [[nodiscard]] std::vector<float> codewords() const;
  [[nodiscard]] std::size_t codes_per_row(std::size_t cols) const {
    return (cols + vector() - 1) / vector();
  }
  [[nodiscard]] std::size_t groups_per_row(std::size_t cols) const {
    return (cols + group - 1) / group;
  }
  /// Factors of a row; 0 unless kHalfTimesByte.
  [[nodiscard]] std::size_t factors_per_row(std::size_t cols) const {
    return scales == GroupScales::kHalfTimesByte ? (cols + share - 1) / share : 0;
  }
  /// Whether the same codes mean the same: compares bases and numbers by what they hold.
  bool operator==(const GroupCodes& other) const;
};

}  // namespace halftone::numerics

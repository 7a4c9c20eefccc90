// SPDX-License-Identifier: Apache-2.0
// The number systems that have names: one table.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"
#include "halftone/numerics/scale_rule.h"

namespace halftone::numerics {

class VectorBasis;

/// How scales and offsets are stored.
struct ScaleStorage {
  NumberType type = NumberType::kFloat32;
  std::optional<NumberType> factor;  ///< of the numbers that several scales share
  /// Neighbouring groups of a row that share a factor; the last of a row may be fewer. 0: one
  /// factor for the whole tensor.
  std::size_t share = 0;
};

/// Which values share scales; group_size is 0 unless granularity is kGroup.
struct BlockShape {
  Granularity granularity = Granularity::kChannel;
  std::size_t group_size = 0;
  bool operator==(const BlockShape&) const = default;
};

/// A number system: one row of the table in systems.cc. A system whose levels fit a table is this
/// row, and works wherever a system is named.
struct NumberSystem {
  std::string_view name;     ///< as users write it and files store it
  std::string_view alias{};  ///< another name, or none
  std::string_view family{};
  int min_bits = 0;
  int max_bits = 0;
  /// Builds the codebook of that name and number of bits; null: levels are learned (see Basis).
  Codebook (*make)(std::string name, int bits) = nullptr;
  bool has_offset = false;
  ScaleRule rule = ScaleRule::kLargest;
  double largest = 0;  ///< L of the rule; 0: the largest level
  BlockShape blocks{};
  ScaleStorage scales{};  ///< of tensors and channels; of groups if not float32; see share
  /// In place of float32 for groups, whose scales are many.
  NumberType group_type = NumberType::kFloat16;
  /// The system of the same codes whose numbers saturate, if this one's become infinity or NaN
  /// beyond the largest; else null.
  const NumberSystem* saturating = nullptr;
  /// The basis of a system of vectors, for weights alone: neighbouring levels, which are those of
  /// "int" with 8 bits, are its codewords. They are fitted; no rule gives them. Else null.
  const VectorBasis* vectors = nullptr;
  std::string_view formula{};  ///< of a level, one line
  std::string_view source{};

  [[nodiscard]] bool is_learned() const { return make == nullptr; }
  [[nodiscard]] bool allows(int bits) const { return min_bits <= bits && bits <= max_bits; }
};

/// The rows, by family.
std::span<const NumberSystem> number_systems();

/// Behind the name of a float with infinity or NaN: numbers that, divided by their scale, round
/// beyond the largest become infinity with their sign, or NaN if there is no infinity. This is a
/// cast of ONNX with saturate = 0. Without it they become the largest.
inline constexpr std::string_view kOverflowSuffix = "_nan";

/// The row of this name or alias; for other names that minifloat_from() knows a row like that of
/// "e4m3" (up to 8 bits) or "fp16"; those of floats with kOverflowSuffix; and a row for each of
/// vector_rates(), such as "2x6", with the basis that shipped_vector_basis() has.
/// @return  what stays where it is
/// @throws Error kUsage that lists the names by family, or says why kOverflowSuffix does not fit
const NumberSystem& find_system(std::string_view name);
/// The same; null if there is none.
/// @throws Error kUsage if kOverflowSuffix does not fit
const NumberSystem* lookup_system(std::string_view name);

/// The codebook of a system, which all its users share: those of 16 bits occupy a megabyte. Null if
/// its levels are learned.
/// @throws Error kUsage if the system does not have this number of bits
std::shared_ptr<const Codebook> codebook_of(const NumberSystem& system, int bits);

/// How scales and offsets of blocks of this granularity are stored: as float32 if groups of a row
/// would share a factor, but a block is no group.
ScaleStorage scale_storage(const NumberSystem& system, Granularity granularity);

/// An encoding of this system with room for the scales of a matrix, which are zeros and ones.
/// Factors are one.
/// @throws Error kUsage as codebook_of()
MatrixEncoding empty_encoding(const NumberSystem& system, int bits, BlockShape blocks,
                              std::size_t rows, std::size_t cols);

/// The encoding of values with the scales that the system's rule gives.
/// @param values  [rows, cols]; scales follow from the finite ones
/// @throws Error kUsage as codebook_of(), or if levels or vectors are fitted: no rule gives them
MatrixEncoding encoding_by_rule(const NumberSystem& system, int bits, BlockShape blocks,
                                MatrixView<const float> values);

}  // namespace halftone::numerics

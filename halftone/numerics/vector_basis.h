// SPDX-License-Identifier: Apache-2.0
// The vector basis: neighbouring numbers that share signs, and how files store them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/numerics/block_encoding.h"

namespace halftone::numerics {

/// d neighbouring numbers that share D signs b, so that a number takes D / d bits:
///
///     (w_1 .. w_d) = scale P b,   P [d, D] of int8, sum |row| <= 127
///
/// Bit k of a code is set for b_k = +1. Every codeword P b fits int8. The scalar basis is the case
/// P = [a_1 I | a_2 I | ...], whose numbers share no sign. Extents are those of vector_rates().
/// Bases are shared: std::make_shared makes them.
class VectorBasis : public std::enable_shared_from_this<VectorBasis> {
 public:
  /// @param numbers  d
  /// @param matrix   [d, D] by rows
  /// @throws Error kFormat if d x D is none of vector_rates(), or the magnitudes of a row sum to
  ///         over 127
  VectorBasis(int numbers, std::span<const std::int8_t> matrix);

  [[nodiscard]] int numbers() const { return numbers_; }  ///< d
  [[nodiscard]] int signs() const { return signs_; }      ///< D
  [[nodiscard]] std::size_t num_codes() const { return std::size_t{1} << signs_; }
  [[nodiscard]] std::span<const std::int8_t> matrix() const { return matrix_; }  ///< [d, D]
  /// The numbers of all codes, [2^D, d].
  [[nodiscard]] std::span<const std::int8_t> codewords() const { return codewords_; }
  /// The d numbers of a code.
  [[nodiscard]] std::span<const std::int8_t> codeword(std::size_t code) const {
    const auto d = static_cast<std::size_t>(numbers_);
    return std::span(codewords_).subspan(code * d, d);
  }
  /// The code of d numbers, of several the lowest; none if they are no codeword.
  [[nodiscard]] std::optional<std::uint16_t> code_of(std::span<const std::int8_t> numbers) const;
  /// "4x8"
  [[nodiscard]] std::string rate() const;

  bool operator==(const VectorBasis& other) const {
    return numbers_ == other.numbers_ && matrix_ == other.matrix_;
  }

 private:
  int numbers_;
  int signs_;
  std::vector<std::int8_t> matrix_;
  std::vector<std::int8_t> codewords_;
  std::vector<std::uint16_t> places_;  ///< codes by the hash of their numbers
};

/// The rates d x D that a basis may have: "4x8", "4x9", "4x10", "2x6", "2x7", "2x8",
/// "2x10".
std::span<const std::string_view> vector_rates();
/// The matrix of a rate that Halftone ships, fitted to normal numbers by
/// scripts/fit_vector_basis.py: nearest codewords and least squares in turn, from several starts,
/// then rounded to int8.
/// @return null for another rate
std::shared_ptr<const VectorBasis> shipped_vector_basis(std::string_view rate);

/// Rows in blocks of 64 numbers: a scale of e3m5 in a byte, then 64 / d codes of D bits, packed one
/// after another, the lowest bits of a byte first. Number i of a block is
///
///     fl(factor * e3m5(scale)) * codeword(code i / d)[i mod d]
///
/// Two are equal if their matrices and factors are.
class VectorEncoding : public BlockEncoding {
 public:
  static constexpr std::size_t kBlock = 64;

  /// @param basis   not null
  /// @param factor  of all scales of a tensor
  /// @throws Error kFormat unless the factor is finite and above 0, and 252 times it is finite
  VectorEncoding(std::shared_ptr<const VectorBasis> basis, float factor);
  VectorEncoding(const VectorEncoding&) = delete;
  VectorEncoding& operator=(const VectorEncoding&) = delete;
  VectorEncoding(VectorEncoding&&) = delete;
  VectorEncoding& operator=(VectorEncoding&&) = delete;
  ~VectorEncoding() = default;

  [[nodiscard]] std::size_t codes_per_block() const {
    return kBlock / static_cast<std::size_t>(basis_->numbers());
  }

  /// Writes a block.
  /// @param codes  [codes_per_block()] below basis().num_codes()
  /// @param scale  a number of e3m5, or the nearest is stored
  /// @param bytes  [block_bytes]
  void pack_codes(std::span<const std::uint16_t> codes, float scale, std::byte* bytes) const;
  /// The inverse. @return the scale, without the factor
  float unpack_codes(const std::byte* bytes, std::span<std::uint16_t> codes) const;

 private:
  std::shared_ptr<const VectorBasis> basis_;
  std::string name_;  ///< "vector 4x8"
};

}  // namespace halftone::numerics

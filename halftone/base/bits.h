// SPDX-License-Identifier: Apache-2.0
// Bit matrices: this file defines word size, bit order and the tail invariant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/error.h"

namespace halftone {

/// The number of 64-bit words that hold `bits` bits.
constexpr std::size_t words_for_bits(std::size_t bits) { return bits / 64 + (bits % 64 != 0); }

/// Bits [first, last) of a row of words, least significant first. @pre last - first <= 64
inline std::uint64_t bits_between(std::span<const std::uint64_t> row, std::size_t first,
                                  std::size_t last) {
  HALFTONE_ASSERT(first <= last && last - first <= 64 && last <= 64 * row.size());
  if (first == last) return 0;
  const std::size_t word = first / 64;
  const std::size_t shift = first % 64;
  std::uint64_t bits = row[word] >> shift;
  if (shift + (last - first) > 64) bits |= row[word + 1] << (64 - shift);
  return bits & ~std::uint64_t{0} >> (64 - (last - first));
}

/// Expands bit i of a byte to byte i of the result: 0 or 1.
constexpr std::uint64_t spread_bits(std::uint8_t bits) {
  const std::uint64_t each = bits * 0x0101010101010101U & 0x8040201008040201U;  // byte i: bit i
  return (each + 0x7f7f7f7f7f7f7f7fU) >> 7 & 0x0101010101010101U;
}

/// A matrix of bits. Column c of a row is bit c mod 64 of word c / 64, least significant first:
///
///     row r:  word 0 [c=0 ... c=63] | word 1 [c=64 ...] | last word [... c=cols-1, 0, 0, 0]
///
/// Invariant: the bits past `cols` in the last word of each row are zero.
class BitMatrix {
 public:
  BitMatrix() = default;
  BitMatrix(std::size_t rows, std::size_t cols)
      : rows_(rows), cols_(cols), row_words_(words_for_bits(cols)), words_(rows * row_words_) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t row_words() const { return row_words_; }

  [[nodiscard]] bool test(std::size_t row, std::size_t col) const {
    HALFTONE_ASSERT(row < rows_ && col < cols_);
    return (words_[row * row_words_ + col / 64] >> (col % 64) & 1) != 0;
  }
  void set(std::size_t row, std::size_t col, bool value) {
    HALFTONE_ASSERT(row < rows_ && col < cols_);
    const std::uint64_t bit = std::uint64_t{1} << (col % 64);
    std::uint64_t& word = words_[row * row_words_ + col / 64];
    word = value ? word | bit : word & ~bit;
  }

  [[nodiscard]] std::span<const std::uint64_t> row(std::size_t r) const {
    return std::span(words_).subspan(r * row_words_, row_words_);
  }
  /// The caller must preserve the tail invariant; see clear_tails().
  [[nodiscard]] std::span<std::uint64_t> row(std::size_t r) {
    return std::span(words_).subspan(r * row_words_, row_words_);
  }
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  [[nodiscard]] std::span<std::uint64_t> words() { return words_; }

  /// The number of set bits in a row.
  [[nodiscard]] std::size_t count(std::size_t row) const;
  /// Zeroes the bits past `cols`, e.g. after words were written directly.
  void clear_tails();
  /// Whether the bits past `cols` are zero.
  [[nodiscard]] bool has_clear_tails() const;

  bool operator==(const BitMatrix&) const = default;

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t row_words_ = 0;
  std::vector<std::uint64_t> words_;
};

/// Copies rows of bits to bytes, bit c of a row into bit c mod 8 of byte c / 8.
/// @param row_bytes  bytes from one row to the next, >= ceil(cols / 8); unused bits are zero
/// @return [rows * row_bytes]
std::vector<std::uint8_t> to_bytes(const BitMatrix& bits, std::size_t row_bytes);

/// The inverse of to_bytes(); bits past `cols` are ignored.
/// @throws Error kFormat if bytes.size() != rows * row_bytes or row_bytes < ceil(cols / 8)
BitMatrix bits_from_bytes(std::span<const std::uint8_t> bytes, std::size_t rows, std::size_t cols,
                          std::size_t row_bytes);

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/bits.h"

#include <bit>

namespace halftone {

std::size_t BitMatrix::count(std::size_t r) const {
  std::size_t total = 0;
  for (const std::uint64_t word : row(r)) total += static_cast<std::size_t>(std::popcount(word));
  return total;
}

bool BitMatrix::has_clear_tails() const {
  const std::size_t used = cols_ % 64;
  if (used == 0) return true;
  for (std::size_t r = 0; r < rows_; ++r) {
    if (row(r).back() >> used != 0) return false;
  }
  return true;
}

void BitMatrix::clear_tails() {
  const std::size_t used = cols_ % 64;
  if (used == 0) return;
  const std::uint64_t mask = (std::uint64_t{1} << used) - 1;
  for (std::size_t r = 0; r < rows_; ++r) words_[(r + 1) * row_words_ - 1] &= mask;
}

namespace {

std::size_t bytes_for_bits(std::size_t bits) { return bits / 8 + (bits % 8 != 0); }

}  // namespace

std::vector<std::uint8_t> to_bytes(const BitMatrix& bits, std::size_t row_bytes) {
  const std::size_t used_bytes = bytes_for_bits(bits.cols());
  HALFTONE_ASSERT(row_bytes >= used_bytes);
  std::vector<std::uint8_t> bytes(bits.rows() * row_bytes);
  for (std::size_t r = 0; r < bits.rows(); ++r) {
    const auto words = bits.row(r);
    for (std::size_t b = 0; b < used_bytes; ++b) {
      bytes[r * row_bytes + b] = static_cast<std::uint8_t>(words[b / 8] >> (b % 8 * 8));
    }
  }
  return bytes;
}

BitMatrix bits_from_bytes(std::span<const std::uint8_t> bytes, std::size_t rows, std::size_t cols,
                          std::size_t row_bytes) {
  const std::size_t used_bytes = bytes_for_bits(cols);
  const bool too_few = rows != 0 && bytes.size() / rows < row_bytes;
  if (row_bytes < used_bytes || too_few || bytes.size() != rows * row_bytes) {
    fail(ErrorKind::kFormat, "bit matrix of " + std::to_string(rows) + " x " +
                                 std::to_string(cols) + ": expected " + std::to_string(rows) +
                                 " rows of " + std::to_string(row_bytes) + " bytes, found " +
                                 std::to_string(bytes.size()) + " bytes");
  }
  BitMatrix bits(rows, cols);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto words = bits.row(r);
    for (std::size_t b = 0; b < used_bytes; ++b) {
      words[b / 8] |= std::uint64_t{bytes[r * row_bytes + b]} << (b % 8 * 8);
    }
  }
  bits.clear_tails();
  return bits;
}

}  // namespace halftone

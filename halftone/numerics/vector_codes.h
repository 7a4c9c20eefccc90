// SPDX-License-Identifier: Apache-2.0
// Matrices of 8-bit codes whose neighbours are codewords of a vector basis, and how small numbers
// are packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/numerics/encoding.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::numerics {

/// Takes numbers of up to 16 bits from bytes.
class BitReader {
 public:
  explicit BitReader(const std::byte* bytes) : bytes_(bytes) {}

  [[nodiscard]] unsigned take(int bits) {
    while (count_ < bits) {
      word_ |= std::to_integer<std::uint32_t>(*bytes_++) << count_;
      count_ += 8;
    }
    const unsigned number = word_ & ((1U << bits) - 1);
    word_ >>= bits;
    count_ -= bits;
    return number;
  }

 private:
  const std::byte* bytes_;
  std::uint32_t word_ = 0;
  int count_ = 0;  ///< bits in the word
};

/// The inverse.
class BitWriter {
 public:
  explicit BitWriter(std::byte* bytes) : bytes_(bytes) {}

  /// @pre number < 2^bits
  void put(unsigned number, int bits) {
    word_ |= std::uint32_t{number} << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, word_ >>= 8) {
      *bytes_++ = static_cast<std::byte>(word_ & 255);
    }
  }
  /// Fills the last byte with zeros.
  void finish() {
    if (count_ > 0) *bytes_++ = static_cast<std::byte>(word_ & 255);
    word_ = 0;
    count_ = 0;
  }

 private:
  std::byte* bytes_;
  std::uint32_t word_ = 0;
  int count_ = 0;
};

/// Codewords of a row of `cols` numbers: ceil(cols / d). The last numbers of a row that d does not
/// divide are the first ones of its last codeword.
std::size_t vectors_per_row(const VectorBasis& basis, std::size_t cols);
/// Bytes of a row of codes of D bits, packed one after another, the lowest bits of a byte first.
std::size_t vector_row_bytes(const VectorBasis& basis, std::size_t cols);

/// The codes of the 8-bit levels of codewords.
/// @param vectors  [rows, vectors_per_row()] below basis.num_codes()
BitPlanes planes_of_vectors(std::span<const std::uint16_t> vectors, const VectorBasis& basis,
                            std::size_t rows, std::size_t cols);
/// The inverse; of several codewords that fit, the lowest.
/// @param codes  of 8 bits
/// @return none if neighbouring numbers are no codeword
std::optional<std::vector<std::uint16_t>> vectors_of_planes(const BitPlanes& codes,
                                                            const VectorBasis& basis);
/// Says where numbers are no codeword: "row 3, columns 4 to 5: no codeword of 2x6"; empty if all
/// are.
std::string why_no_vectors(const BitPlanes& codes, const VectorBasis& basis);

/// Rows of vector_row_bytes(), filled up with zero bits.
std::vector<std::byte> pack_vectors(std::span<const std::uint16_t> vectors,
                                    const VectorBasis& basis, std::size_t rows, std::size_t cols);
/// The inverse.
/// @param bytes  [rows, vector_row_bytes()]
/// @throws Error kFormat if a bit behind the last code of a row is set
std::vector<std::uint16_t> unpack_vectors(std::span<const std::byte> bytes,
                                          const VectorBasis& basis, std::size_t rows,
                                          std::size_t cols);

}  // namespace halftone::numerics

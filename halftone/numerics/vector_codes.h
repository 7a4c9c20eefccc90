// SPDX-License-Identifier: Apache-2.0
// Matrices of 8-bit codes whose neighbours are codewords of a vector basis.
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

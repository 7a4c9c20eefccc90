// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/vector_codes.h"

#include <algorithm>
#include <array>

#include "halftone/base/error.h"

namespace halftone::numerics {
namespace {

/// The code of the level 0: that of a level is kZero more.
constexpr int kZero = 128;

/// Extents of a matrix of codewords.
struct VectorExtent {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t numbers = 0;  ///< d
  std::size_t per_row = 0;

  VectorExtent(const VectorBasis& basis, std::size_t num_rows, std::size_t num_cols)
      : rows(num_rows),
        cols(num_cols),
        numbers(static_cast<std::size_t>(basis.numbers())),
        per_row(vectors_per_row(basis, num_cols)) {}

  /// The numbers of a codeword that its row has: d, or fewer of the last one.
  [[nodiscard]] std::size_t width(std::size_t vector) const {
    return std::min(numbers, cols - vector * numbers);
  }
};

/// The code of the first numbers of a codeword, of several the lowest.
std::optional<std::uint16_t> code_of_first(const VectorBasis& basis,
                                           std::span<const std::int8_t> first) {
  if (first.size() == static_cast<std::size_t>(basis.numbers())) return basis.code_of(first);
  for (std::size_t code = 0; code < basis.num_codes(); ++code) {
    if (std::ranges::equal(basis.codeword(code).first(first.size()), first)) {
      return static_cast<std::uint16_t>(code);
    }
  }
  return std::nullopt;
}

/// Calls visit(row, vector, code or nothing) for all codewords until it returns false.
template <typename Visit>
void visit_vectors(const BitPlanes& codes, const VectorBasis& basis, const Visit& visit) {
  const VectorExtent extent(basis, codes.rows, codes.cols);
  std::array<std::int8_t, 4> numbers{};
  HALFTONE_ASSERT(extent.numbers <= numbers.size() && codes.bits == 8);
  for (std::size_t row = 0; row < extent.rows; ++row) {
    for (std::size_t v = 0; v < extent.per_row; ++v) {
      const std::size_t width = extent.width(v);
      for (std::size_t i = 0; i < width; ++i) {
        numbers[i] = static_cast<std::int8_t>(codes.code(row, v * extent.numbers + i) - kZero);
      }
      if (!visit(row, v, code_of_first(basis, std::span(numbers).first(width)))) return;
    }
  }
}

}  // namespace

std::size_t vectors_per_row(const VectorBasis& basis, std::size_t cols) {
  const auto d = static_cast<std::size_t>(basis.numbers());
  return cols / d + (cols % d != 0);
}

std::size_t vector_row_bytes(const VectorBasis& basis, std::size_t cols) {
  return (vectors_per_row(basis, cols) * static_cast<std::size_t>(basis.signs()) + 7) / 8;
}

BitPlanes planes_of_vectors(std::span<const std::uint16_t> vectors, const VectorBasis& basis,
                            std::size_t rows, std::size_t cols) {
  const VectorExtent extent(basis, rows, cols);
  HALFTONE_ASSERT(vectors.size() == rows * extent.per_row);
  BitPlanes planes(rows, cols, 8);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t v = 0; v < extent.per_row; ++v) {
      const auto numbers = basis.codeword(vectors[row * extent.per_row + v]);
      for (std::size_t i = 0; i < extent.width(v); ++i) {
        planes.set_code(row, v * extent.numbers + i, static_cast<Code>(numbers[i] + kZero));
      }
    }
  }
  return planes;
}

std::optional<std::vector<std::uint16_t>> vectors_of_planes(const BitPlanes& codes,
                                                            const VectorBasis& basis) {
  std::vector<std::uint16_t> vectors;
  const std::size_t count = codes.rows * vectors_per_row(basis, codes.cols);
  vectors.reserve(count);
  visit_vectors(codes, basis,
                [&](std::size_t, std::size_t, const std::optional<std::uint16_t>& code) {
                  if (code) vectors.push_back(*code);
                  return code.has_value();
                });
  if (vectors.size() != count) return std::nullopt;
  return vectors;
}

std::string why_no_vectors(const BitPlanes& codes, const VectorBasis& basis) {
  std::string reason;
  const VectorExtent extent(basis, codes.rows, codes.cols);
  visit_vectors(
      codes, basis, [&](std::size_t row, std::size_t v, const std::optional<std::uint16_t>& code) {
        if (code) return true;
        const std::size_t first = v * extent.numbers;
        reason = "row " + std::to_string(row) + ", columns " + std::to_string(first) + " to " +
                 std::to_string(first + extent.width(v) - 1) + ": no codeword of " + basis.rate();
        return false;
      });
  return reason;
}

std::vector<std::byte> pack_vectors(std::span<const std::uint16_t> vectors,
                                    const VectorBasis& basis, std::size_t rows, std::size_t cols) {
  const std::size_t per_row = vectors_per_row(basis, cols);
  const std::size_t row_bytes = vector_row_bytes(basis, cols);
  HALFTONE_ASSERT(vectors.size() == rows * per_row);
  std::vector<std::byte> bytes(rows * row_bytes);
  const auto width = static_cast<std::size_t>(basis.signs());
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t row = i / per_row;
    for (std::size_t b = 0; b < width; ++b) {
      const std::size_t bit = i % per_row * width + b;
      bytes[row * row_bytes + bit / 8] |= std::byte((vectors[i] >> b & 1U) << (bit % 8));
    }
  }
  return bytes;
}

std::vector<std::uint16_t> unpack_vectors(std::span<const std::byte> bytes,
                                          const VectorBasis& basis, std::size_t rows,
                                          std::size_t cols) {
  const std::size_t per_row = vectors_per_row(basis, cols);
  const std::size_t row_bytes = vector_row_bytes(basis, cols);
  HALFTONE_ASSERT(bytes.size() == rows * row_bytes);
  const auto width = static_cast<std::size_t>(basis.signs());
  std::vector<std::uint16_t> vectors(rows * per_row);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto own = bytes.subspan(row * row_bytes, row_bytes);
    const auto bit_at = [&](std::size_t bit) {
      return std::to_integer<unsigned>(own[bit / 8]) >> (bit % 8) & 1U;
    };
    for (std::size_t bit = 0; bit < per_row * width; ++bit) {
      const unsigned value = bit_at(bit) << (bit % width);
      vectors[row * per_row + bit / width] |= static_cast<std::uint16_t>(value);
    }
    for (std::size_t bit = per_row * width; bit < 8 * row_bytes; ++bit) {
      if (bit_at(bit) == 0) continue;
      fail(ErrorKind::kFormat, "codes of " + basis.rate() + ": expected zero bits behind code " +
                                   std::to_string(per_row) + " of row " + std::to_string(row) +
                                   ", found a one");
    }
  }
  return vectors;
}

}  // namespace halftone::numerics

// SPDX-License-Identifier: Apache-2.0
// The bases of a whole matrix, and the matrix of its codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/base/bits.h"
#include "halftone/base/view.h"
#include "halftone/numerics/basis.h"

namespace halftone::numerics {

/// The part of a matrix that shares one basis.
enum class Granularity {
  kTensor,   ///< the whole matrix
  kChannel,  ///< a row: for weights, an output channel
  kGroup,    ///< `group_size` neighbouring columns of a row; the last group may be shorter
};

std::string_view to_string(Granularity granularity);

/// The bases of a matrix [rows, cols], which define the values of its codes.
/// They are ordered by row, then by group within the row.
struct BasisEncoding {
  int bits = 1;
  bool has_offset = false;  ///< if false, every offset is zero and none is stored
  Granularity granularity = Granularity::kTensor;
  std::size_t group_size = 0;  ///< for kGroup: columns that share a basis; else 0
  std::vector<Basis> bases;

  /// Groups per row: 1 unless granularity is kGroup.
  [[nodiscard]] std::size_t groups_per_row(std::size_t cols) const;
  /// The number of bases of a matrix of this extent.
  [[nodiscard]] std::size_t num_bases(std::size_t rows, std::size_t cols) const;
  /// The basis of group `group` in row `row`.
  [[nodiscard]] const Basis& basis(std::size_t row, std::size_t group, std::size_t cols) const;

  /// @throws Error kShape if bits, group size, or the number of bases do not fit the extent, or a
  ///         basis has other bits, an offset although has_offset is false, or a non-finite value
  void check(std::size_t rows, std::size_t cols) const;

  bool operator==(const BasisEncoding&) const = default;
};

/// An encoding with one basis for the whole tensor, as used for activations.
BasisEncoding tensor_encoding(const Basis& basis);

/// Calls visit(basis_index, row, first_col, num_cols) for every block of the matrix that shares a
/// basis, row by row and group by group within a row.
template <typename Visit>
void for_each_block(const BasisEncoding& encoding, std::size_t rows, std::size_t cols,
                    Visit&& visit) {
  const std::size_t groups = encoding.groups_per_row(cols);
  const std::size_t width =
      encoding.granularity == Granularity::kGroup ? encoding.group_size : cols;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * width;
      const std::size_t index = encoding.granularity == Granularity::kTensor ? 0 : row * groups + g;
      visit(index, row, first, std::min(width, cols - first));
    }
  }
}

/// The canonical bit planes of a matrix of codes: row r * K + j holds bit j of the codes of row r.
///
///     row r:  plane 0 [col 0 ... cols-1]
///             plane 1
///             ...
///             plane K-1
struct BitPlanes {
  std::size_t rows = 0;
  std::size_t cols = 0;
  int bits = 1;
  BitMatrix planes;  ///< [rows * bits, cols]

  BitPlanes() = default;
  BitPlanes(std::size_t num_rows, std::size_t num_cols, int num_bits);

  [[nodiscard]] std::size_t plane(std::size_t row, int bit) const {
    return row * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
  }
  [[nodiscard]] Code code(std::size_t row, std::size_t col) const;
  void set_code(std::size_t row, std::size_t col, Code code);

  bool operator==(const BitPlanes&) const = default;
};

/// The code of the level nearest to each value; see LevelTable for ties.
/// @param values    [rows, cols]
/// @throws Error kShape as BasisEncoding::check()
BitPlanes encode(MatrixView<const float> values, const BasisEncoding& encoding);

/// The values of the codes.
/// @return [rows * cols], row by row
/// @throws Error kShape as BasisEncoding::check(), or if bits differ
std::vector<float> decode(const BitPlanes& codes, const BasisEncoding& encoding);

}  // namespace halftone::numerics

// SPDX-License-Identifier: Apache-2.0
// What the codes of a whole matrix mean, and the matrix of its codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/base/bits.h"
#include "halftone/base/view.h"
#include "halftone/numerics/levels.h"
#include "halftone/numerics/stored_numbers.h"

namespace halftone::numerics {

class VectorBasis;

/// The part of a matrix that shares scales: a block.
enum class Granularity {
  kTensor,   ///< the whole matrix
  kChannel,  ///< a row: for weights, an output channel
  kGroup,    ///< `group_size` neighbouring columns of a row; the last group may be shorter
};

std::string_view to_string(Granularity granularity);

/// What the codes of a matrix [rows, cols] mean. Blocks of neighbouring values share a scale and an
/// offset; they are ordered by row, then by group within the row:
///
///     value = fl(fl(scale level[code]) + offset)              with a codebook that all share
///     value = (a_1 b_1 + ... + a_K b_K) + offset, b_i = +-1   without: a basis for each block
/// The numbers are stored as `scales` and `offsets`.
struct MatrixEncoding {
  int bits = 1;                              ///< K, up to kMaxBits without a codebook
  std::shared_ptr<const Codebook> codebook;  ///< null: each block has levels of its own
  bool has_offset = false;                   ///< if false, every offset is zero and none is stored
  Granularity granularity = Granularity::kTensor;
  std::size_t group_size = 0;  ///< for kGroup: columns of a block; else 0
  StoredNumbers scales;        ///< [blocks], or without a codebook a: [blocks, K]
  StoredNumbers offsets;       ///< [blocks], or none
  /// With it, each d neighbouring levels of a row are a codeword of this basis, and the last levels
  /// of a row that d does not divide the first numbers of one: see vector_codes.h. Levels are those
  /// of "int" with 8 bits, in groups of whole codewords without offsets. Files store codewords;
  /// everything else reads the levels. Null: levels are independent. Tensors share a basis.
  std::shared_ptr<const VectorBasis> vectors{};

  /// Blocks per row: 1 unless granularity is kGroup.
  [[nodiscard]] std::size_t groups_per_row(std::size_t cols) const;
  /// The number of blocks of a matrix of this extent.
  [[nodiscard]] std::size_t num_blocks(std::size_t rows, std::size_t cols) const;
  /// The number of blocks that this encoding holds.
  [[nodiscard]] std::size_t num_blocks() const { return scales.size() / scales_per_block(); }
  /// Index of the block that is group `group` of row `row`.
  [[nodiscard]] std::size_t block(std::size_t row, std::size_t group, std::size_t cols) const;
  /// Stored scales of a block: K coefficients, or one scale.
  [[nodiscard]] std::size_t scales_per_block() const {
    return codebook == nullptr ? static_cast<std::size_t>(bits) : 1;
  }

  /// What the codes of a block mean.
  [[nodiscard]] Levels levels(std::size_t block) const;
  [[nodiscard]] Levels levels(std::size_t row, std::size_t group, std::size_t cols) const {
    return levels(block(row, group, cols));
  }
  /// Whether the bits of codes are signs of coefficients; see Levels::is_summed().
  [[nodiscard]] bool is_summed() const;
  /// The coefficients of a block. @pre is_summed()
  [[nodiscard]] Basis basis(std::size_t block) const { return levels(block).basis(); }
  [[nodiscard]] Basis basis(std::size_t row, std::size_t group, std::size_t cols) const {
    return basis(block(row, group, cols));
  }
  /// Whether kernels may round the levels to 8-bit integers; see Codebook::fits_integers().
  [[nodiscard]] bool fits_integers() const {
    return codebook == nullptr || codebook->fits_integers();
  }
  /// Steps of the grid of 8-bit integers for levels of weights. @pre at most kMaxBits bits
  [[nodiscard]] int weight_steps() const;
  /// Whether the lowest level of each block is the highest with the other sign.
  [[nodiscard]] bool is_centred() const;
  /// Stores the numbers of a block, rounded to their types.
  /// @pre levels of this codebook, or of none
  void set_levels(std::size_t block, const Levels& levels);
  /// The type to which a fit rounds scales and offsets. Where binary16 is only a short form of
  /// float32 (see compact()), it is float32; the scales of groups of a codebook are many.
  [[nodiscard]] NumberType number_type() const;
  /// The encoding with other levels in all blocks, in its short form.
  [[nodiscard]] MatrixEncoding with_levels(std::span<const Levels> blocks) const;
  /// Stores scale and offset of a block, rounded to their types. In place of a scale that rounds to
  /// zero it stores the smallest of the type, with the sign; in place of zero itself,
  /// least_scale().
  /// @pre a codebook
  void set_scale(std::size_t block, double scale, double offset = 0);
  /// Makes room for the blocks of a matrix: zeros, stored as float32.
  void allocate(std::size_t rows, std::size_t cols);
  /// The encoding of `count` blocks from `first` on; see StoredNumbers::slice().
  [[nodiscard]] MatrixEncoding slice(std::size_t first, std::size_t count) const;
  /// The same values, with float32 numbers as binary16 if that changes none.
  [[nodiscard]] MatrixEncoding compact() const;
  /// Bits of scales and offsets in a file.
  [[nodiscard]] std::size_t stored_bits() const {
    return scales.stored_bits() + offsets.stored_bits();
  }

  /// @throws Error kShape if bits, group size, factors, or the number of blocks do not fit the
  ///         extent, a number is not finite, a scale of a codebook is zero, or `vectors` does not
  ///         go with the rest
  void check(std::size_t rows, std::size_t cols) const;

  bool operator==(const MatrixEncoding& other) const;
};

/// "basis", the rate of the vector basis ("2x6"), or the name of the codebook.
std::string_view system_name(const MatrixEncoding& encoding);

/// An encoding with one basis for the whole tensor, as used for activations.
MatrixEncoding tensor_encoding(const Basis& basis);
/// Learned levels of a matrix.
/// @param bases  of one number of bits, at least one
MatrixEncoding basis_encoding(std::span<const Basis> bases, bool has_offset,
                              Granularity granularity, std::size_t group_size = 0);

/// Calls visit(block, row, first_col, num_cols) for every run of values of one block, row by row
/// and group by group within a row.
template <typename Visit>
void for_each_block(const MatrixEncoding& encoding, std::size_t rows, std::size_t cols,
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

  /// The codes of `count` rows from `first` on.
  [[nodiscard]] BitPlanes slice(std::size_t first, std::size_t count) const;

  bool operator==(const BitPlanes&) const = default;
};

/// The code of the level nearest to each value; see LevelTable and Levels::encode() for ties.
/// @param values    [rows, cols]
/// @throws Error kShape as MatrixEncoding::check()
BitPlanes encode(MatrixView<const float> values, const MatrixEncoding& encoding);

/// The values of the codes.
/// @return [rows * cols], row by row
/// @throws Error kShape as MatrixEncoding::check(), or if bits differ
std::vector<float> decode(const BitPlanes& codes, const MatrixEncoding& encoding);
/// The same.
/// @param values  [rows * cols]
void decode(const BitPlanes& codes, const MatrixEncoding& encoding, std::span<float> values);

}  // namespace halftone::numerics

// SPDX-License-Identifier: Apache-2.0
// Rows of activations as 8-bit integers with a scale per 32 or 64 inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/groups/group_layout.h"

namespace halftone::kernels {

/// Encoded activations [rows, cols] for weights in groups, in memory that it does not own. Per row,
/// each part aligned to 64 bytes:
///
///     codes   [padded_cols] int8, in the order of GroupExtents::place()
///     scales  [num_pieces] float32, that of the piece's inputs
///     shares  [num_pieces] float32, scale times sum of the codes
///     sums    [num_pieces] int32, of the codes
class EncodedRows {
 public:
  EncodedRows() = default;
  /// @param memory  at least size_bytes(), aligned to 64 bytes
  /// @throws Error kShape if the memory is too small or not aligned
  EncodedRows(std::span<std::byte> memory, std::size_t rows, const GroupExtents& extents);
  /// Bytes that so many rows take.
  static std::size_t size_bytes(std::size_t rows, const GroupExtents& extents);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const GroupExtents& extents() const { return extents_; }

  [[nodiscard]] std::int8_t* codes(std::size_t row) const {
    return reinterpret_cast<std::int8_t*>(part(row, 0));
  }
  [[nodiscard]] float* scales(std::size_t row) const {
    return reinterpret_cast<float*>(part(row, 1));
  }
  [[nodiscard]] float* shares(std::size_t row) const {
    return reinterpret_cast<float*>(part(row, 2));
  }
  [[nodiscard]] std::int32_t* sums(std::size_t row) const {
    return reinterpret_cast<std::int32_t*>(part(row, 3));
  }

 private:
  [[nodiscard]] std::byte* part(std::size_t row, std::size_t index) const {
    HALFTONE_ASSERT(row < rows_);
    const std::size_t before = index == 0 ? 0 : codes_bytes_ + (index - 1) * piece_bytes_;
    return memory_ + row * (codes_bytes_ + 3 * piece_bytes_) + before;
  }

  std::byte* memory_ = nullptr;
  std::size_t rows_ = 0;
  GroupExtents extents_;
  std::size_t codes_bytes_ = 0;
  std::size_t piece_bytes_ = 0;
};

/// Encodes rows. For each 64 neighbouring inputs of a row, or 32 for groups below 64, in float32:
///
///     m = max |x_i|,  scale = m / 127,  code_i = x_i (127 / m) rounded to nearest, ties to even
///
/// Where m is so small that 127 / m is infinite, codes and scale are 0. Where an input is infinite
/// or NaN, codes are 0 and the scale is NaN, which makes all products of the row NaN.
/// @param values  [rows, cols]
/// @param rows    which rows to encode
void encode_group_rows(MatrixView<const float> values, BlockRange rows,
                       const EncodedRows& to) noexcept;

/// Reference implementation of encode_group_rows() in plain loops.
void encode_group_rows_reference(MatrixView<const float> values, BlockRange rows,
                                 const EncodedRows& to) noexcept;

}  // namespace halftone::kernels

// SPDX-License-Identifier: Apache-2.0
// Float rows to the levels of a basis as 8-bit integers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/kernels/int8_matmul/level_grid.h"

namespace halftone::kernels {

/// The levels of an EncodeTable and their 8-bit values, prepared for encode_int8().
class Int8EncodeTable {
 public:
  explicit Int8EncodeTable(EncodeTable table);

  [[nodiscard]] const EncodeTable& table() const { return table_; }
  [[nodiscard]] const Int8Levels& levels() const { return levels_; }
  /// [2^K] the 8-bit value of each level, ascending by level.
  [[nodiscard]] const std::int8_t* q() const { return q_.data(); }

  /// If thresholds are evenly spaced and q is a line: q[l] = first + slope l.
  struct Line {
    bool exists = false;
    float first = 0;
    float slope = 0;
  };
  [[nodiscard]] const Line& line() const { return line_; }

  /// Of 15 thresholds: for each step of a binary search, the threshold in the middle of each part
  /// that may be left, padded to a vector.
  using Middles = std::array<std::array<float, 16>, 4>;
  [[nodiscard]] const Middles& middles() const { return middles_; }

  /// Fewer levels are counted by comparisons with all thresholds.
  static constexpr std::size_t kManyLevels = 17;

  /// Of EncodeTable::Buckets with at most one threshold each: that threshold, or any later one, and
  /// the 8-bit values of the levels below and above it.
  struct Bucket {
    float threshold;
    std::array<std::int8_t, 2> q;
  };
  /// Empty if there are few levels, a line, or a bucket with several thresholds.
  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }

 private:
  void find_line();
  void fill_buckets();

  EncodeTable table_;
  Int8Levels levels_;
  std::array<std::int8_t, std::size_t{1} << numerics::kMaxBits> q_{};
  Line line_;
  std::vector<Bucket> buckets_;
  Middles middles_{};
};

/// q = table.levels().q[code] with the code from encode(), for layers that multiply integers and
/// need no packed codes.
/// @param values  [rows, n] f32
/// @param q       [rows, n], all written
void encode_int8(MatrixView<const float> values, const Int8EncodeTable& table,
                 MatrixView<std::int8_t> q) noexcept;

/// Reference implementation of encode_int8() in plain loops.
/// @param levels  of table.basis()
void encode_int8_reference(MatrixView<const float> values, const EncodeTable& table,
                           const Int8Levels& levels, MatrixView<std::int8_t> q) noexcept;

}  // namespace halftone::kernels

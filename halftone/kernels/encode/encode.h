// SPDX-License-Identifier: Apache-2.0
// Floats to bits or 8-bit integers and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/numerics/encoding.h"
#include "halftone/numerics/levels.h"

namespace halftone::kernels {

/// Encodes every value to the code of its level (see numerics::LevelTable for ties and NaN) and
/// stores the codes as bit planes, laid out as in numerics::BitPlanes: row r, plane j starts at
/// word (r K + j) W with W = words_for_bits(n); the bits past n are zero.
/// @param values  [rows, n] f32
/// @param planes  [rows * K * W] words, all written
void encode(MatrixView<const float> values, const EncodeTable& table,
            std::span<std::uint64_t> planes) noexcept;

/// Reference implementation of encode() in plain loops.
void encode_reference(MatrixView<const float> values, const EncodeTable& table,
                      std::span<std::uint64_t> planes) noexcept;

/// Writes the level of every code, as numerics::Levels::value().
/// @param planes  [rows, K, words] as encode() writes them; K = levels.bits()
/// @param values  [rows, n]
void decode(std::span<const std::uint64_t> planes, const numerics::Levels& levels,
            MatrixView<float> values) noexcept;

/// Rows first_row, first_row + 1, ... of numerics::decode(), any granularity.
/// @param codes     [rows, n]
/// @param encoding  of `codes`; encoding.check() holds and bits agree
/// @param values    [number of rows wanted, n]
void decode(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
            std::size_t first_row, MatrixView<float> values) noexcept;

/// The largest magnitude of a quantized activation: the range is symmetric.
inline constexpr int kInt8Range = 127;

/// Quantizes every row to 127 steps on either side of zero, scaled to the range of the row:
///
///     m = max |x_i|,  scale = m / 127,  q_i = x_i (127 / m) rounded to nearest, ties to even
///
/// so that x_i = scale q_i within scale / 2. A row with m so small that 127 / m is infinite is all
/// zero with scale 0; one with an infinity or NaN is all zero with scale NaN, which makes all
/// results of the row NaN.
/// @param values  [rows, n] f32
/// @param q       [rows, n], all written
/// @param scales  [rows]
void quantize_rows(MatrixView<const float> values, MatrixView<std::int8_t> q,
                   std::span<float> scales) noexcept;

/// Reference implementation of quantize_rows() in plain loops.
void quantize_rows_reference(MatrixView<const float> values, MatrixView<std::int8_t> q,
                             std::span<float> scales) noexcept;

/// y_i = the level of x_i.
/// @param y  [n]; may be the memory of x
void round_to_levels(std::span<const float> x, const numerics::LevelTable& table,
                     std::span<float> y) noexcept;
/// The same with levels prepared for encoding, which is faster for more than 16 of them.
void round_to_levels(std::span<const float> x, const EncodeTable& table,
                     std::span<float> y) noexcept;

/// More levels are summed by the reference, which is slow: their partial sums do not fit the stack.
inline constexpr std::size_t kMaxSummedLevels = std::size_t{1} << numerics::kMaxBits;

/// sums_l = the sum of v_i over the values x_i of level l, in ascending order of levels. It does
/// not depend on the vector length: in each run of 4096 values, value i is added to partial sum
/// i mod 16 of its level in float32; then partial sum l + h is added to partial sum l, for
/// h = 8, 4, 2, 1. The sums of the runs are added in float64.
/// @param v     [n]
/// @param sums  [levels], all written
void sum_by_level(std::span<const float> x, std::span<const float> v,
                  const numerics::LevelTable& table, std::span<double> sums) noexcept;
/// The number of values of each level.
void count_by_level(std::span<const float> x, const numerics::LevelTable& table,
                    std::span<double> counts) noexcept;

/// y_i = g_i where low <= x_i <= high, else 0.
/// @param y  [n]; may be the memory of g
void pass_between(std::span<const float> x, float low, float high, std::span<const float> g,
                  std::span<float> y) noexcept;

/// Reference implementations in plain loops.
void round_to_levels_reference(std::span<const float> x, const numerics::LevelTable& table,
                               std::span<float> y) noexcept;
void sum_by_level_reference(std::span<const float> x, std::span<const float> v,
                            const numerics::LevelTable& table, std::span<double> sums) noexcept;
void pass_between_reference(std::span<const float> x, float low, float high,
                            std::span<const float> g, std::span<float> y) noexcept;

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

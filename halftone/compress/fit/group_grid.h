// SPDX-License-Identifier: Apache-2.0
// Weights in groups that share a scale, whatever file stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halftone/base/view.h"

namespace halftone::compress {

/// What a group of weights can represent. With codeword c of `vector` weights, each of them is
///
///     fl(fl(scale_factor scale) c_i) + fl(offset_factor offset)
///
/// in float32. Groups, and blocks that share factors, begin anew in each row; the last ones of a
/// row may be shorter.
struct GroupGrid {
  /// What scales are.
  enum Scales : std::uint8_t {
    kHalf,      ///< float16 of either sign; factors are 1
    kIntegers,  ///< integers of a group times a float16 of `share` weights
    kE3m5,      ///< numbers of numerics::NumberType::kE3m5 times one float32 of the matrix
  };

  std::size_t vector = 1;        ///< d, neighbouring weights that share a code: 1, 2 or 4
  std::vector<float> codewords;  ///< [n, d] levels, n of 2 to 1024
  std::size_t group = 32;        ///< weights that share a scale: a multiple of d, at most 256
  Scales scales = kHalf;
  std::size_t share = 0;  ///< kIntegers: weights that share a factor, a multiple of `group`
  int min_scale = 0;      ///< kIntegers; below zero if scales have a sign
  int max_scale = 0;      ///< kIntegers
  /// kHalf: float16 offsets. kIntegers: integers 0 to max_offset times a float16 <= 0.
  bool has_offsets = false;
  int max_offset = 0;

  [[nodiscard]] std::size_t num_codewords() const { return codewords.size() / vector; }
  [[nodiscard]] std::size_t codes_per_row(std::size_t cols) const {
    return (cols + vector - 1) / vector;
  }
  [[nodiscard]] std::size_t groups_per_row(std::size_t cols) const {
    return (cols + group - 1) / group;
  }
  /// Factors of a row; 0 unless kIntegers.
  [[nodiscard]] std::size_t factors_per_row(std::size_t cols) const {
    return scales == kIntegers ? (cols + share - 1) / share : 0;
  }
};

/// Fails unless a grid is one that the comments of GroupGrid allow.
/// @throws Error kUsage; kUnsupported if a codeword is not finite
void check_grid(const GroupGrid& grid);

/// A matrix [rows, cols] on a grid: all that a file stores.
struct GroupFit {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<std::uint16_t> codes;   ///< [rows, codes_per_row] indices of codewords
  std::vector<float> scales;          ///< [rows, groups_per_row] float16, integers or e3m5
  std::vector<float> offsets;         ///< likewise; empty without offsets
  std::vector<float> scale_factors;   ///< kIntegers [rows, factors_per_row]; kE3m5 [1]; kHalf empty
  std::vector<float> offset_factors;  ///< kIntegers with offsets [rows, factors_per_row]; <= 0

  bool operator==(const GroupFit&) const = default;
};

/// The weights that a fit represents, as files of this grid are decoded.
/// @param values  [rows, cols]
/// @throws Error kShape if the sizes differ
void decode(const GroupFit& fit, const GroupGrid& grid, MatrixView<float> values);

}  // namespace halftone::compress

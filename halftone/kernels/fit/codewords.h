// SPDX-License-Identifier: Apache-2.0
// Codewords, and how near they are to weights in the metric of a layer's outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// Weights are fitted in blocks of rows: element (c, r) of all matrices of this folder belongs to
/// column c and row r of the weights, so that rows are lanes and no sum crosses them. The number of
/// rows is a multiple of this.
inline constexpr std::size_t kFitLanes = 16;
/// Columns of the longest group.
inline constexpr std::size_t kMaxFitGroup = 256;

/// The codewords of a code for d neighbouring weights of a row.
class Codewords {
 public:
  /// @param words  [n, d], d 1, 2 or 4
  Codewords(std::span<const float> words, std::size_t d);

  [[nodiscard]] std::size_t count() const { return words_.size() / d_; }
  [[nodiscard]] std::size_t numbers() const { return d_; }
  [[nodiscard]] const float* words() const { return words_.data(); }
  /// The least and the largest number of a codeword.
  [[nodiscard]] float least() const { return least_; }
  [[nodiscard]] float largest() const { return largest_; }
  /// Where d is 1 and codeword k is exactly fl(first + fl(k step)), the step, > 0; else 0. The
  /// nearest of them is found by rounding.
  [[nodiscard]] float step() const { return step_; }
  /// [n] c' c / 2: the norms of CodeMetric where G is one.
  [[nodiscard]] const std::vector<float>& half_squares() const { return half_squares_; }

 private:
  std::size_t d_;
  std::vector<float> words_;
  float least_ = 0;
  float largest_ = 0;
  float step_ = 0;
  std::vector<float> half_squares_;
};

/// A metric within a group of columns, for blocks of d columns that share a code: the distance of a
/// block's weights x from the values s c is (x - s c)' G (x - s c) with a symmetric G [d, d]. So
/// the nearest codeword is the c that maximises (G x / s)' c - c' G c / 2.
struct CodeMetric {
  std::vector<float> gram;   ///< [blocks, d, d] G
  std::vector<float> norms;  ///< [blocks, n] c' G c / 2; empty if codewords have a step

  CodeMetric() = default;
  /// @param gram  [blocks, d, d] symmetric, positive semidefinite
  CodeMetric(std::vector<float> gram, const Codewords& codewords);
};

}  // namespace halftone::kernels

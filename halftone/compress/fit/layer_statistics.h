// SPDX-License-Identifier: Apache-2.0
// Second moments of a layer's inputs over the calibration data, of fixed size.
#pragma once

#include <cstddef>
#include <tuple>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/compress/fit/parameters.h"
#include "halftone/spmd/tree.hpp"

namespace halftone::compress {

/// Moments of a layer's inputs x in the float network and of its actual inputs q, which come from
/// the quantized layers before it. Sums are float64. Memory: 16 n^2 bytes.
class LayerStatistics {
 public:
  class Builder;

  /// Of no rows.
  explicit LayerStatistics(std::size_t num_inputs);

  /// Adds the sums of another object. @pre the same number of inputs
  void add(const LayerStatistics& other);

  /// All sums as arrays, so that statistics of batches can be added: int64 [], float64 [n], [n],
  /// [n, n], [n, n].
  struct Sums {
    spmd::Array count;
    spmd::Array actual;
    spmd::Array original;
    spmd::Array actual_products;
    spmd::Array cross_products;

    static auto members(auto& self) {
      return std::tie(self.count, self.actual, self.original, self.actual_products,
                      self.cross_products);
    }
  };
  explicit LayerStatistics(const Sums& sums);
  /// Moves the sums out; this object is empty afterwards.
  [[nodiscard]] Sums take_sums();

  [[nodiscard]] Eigen::Index num_inputs() const { return actual_sum_.size(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// [n] means of q and of x.
  [[nodiscard]] Vector actual_mean() const { return actual_sum_ / divisor(); }
  [[nodiscard]] Vector original_mean() const { return original_sum_ / divisor(); }
  /// [n, n] E[q q'], less the product of the means if `centred`.
  [[nodiscard]] Matrix hessian(bool centred) const;
  /// [n, n] E[q x'], less the product of the means if `centred`.
  [[nodiscard]] Matrix cross(bool centred) const;

 private:
  [[nodiscard]] double divisor() const { return count_ == 0 ? 1 : static_cast<double>(count_); }

  std::size_t count_ = 0;
  Vector actual_sum_;
  Vector original_sum_;
  Matrix actual_products_;  ///< upper triangle with the diagonal
  Matrix cross_products_;
};

/// Computes the statistics of rows. Products are summed in float32 over runs of kRunRows rows, of
/// deviations from a, the mean of the first rows of q, and from b, that of x. They are scaled by
/// powers of two, so that no product leaves the range of float32. Runs are added in float64:
///
///     sum q x' = sum (q - a) (x - b)' + a (sum x - b)' + (sum q - a) b' + count a b'
///
/// So errors are relative to the spread of an input, however far from zero its values are. The
/// same rows give the same bits, however they are divided among calls. Memory: 24 n^2 + 8 kRunRows
/// n bytes.
class LayerStatistics::Builder {
 public:
  static constexpr std::size_t kRunRows = 512;

  explicit Builder(std::size_t num_inputs);

  /// Adds rows.
  /// @param actual    [rows, n] q
  /// @param original  [rows, n] x
  /// @pre the extents agree
  void add(MatrixView<const float> actual, MatrixView<const float> original);

  /// Of all rows so far; this object is empty afterwards.
  [[nodiscard]] LayerStatistics finish();

 private:
  /// What the current run holds of one of both inputs.
  struct Run {
    std::vector<float> centre;    ///< [n] a or b; empty before the end of the first run
    std::vector<float> rows;      ///< [kRunRows, n] as added, then their scaled deviations
    std::vector<float> products;  ///< [n, n] sums of products of those of q and these
    Vector sum;                   ///< [n] of the deviations, not scaled
    Vector size;                  ///< [n] a power of two: the scaled deviations are at most 4

    void find_centre(MatrixView<const float> run);
    /// Turns rows into scaled deviations and sums them.
    void scale_deviations(MatrixView<float> run);
  };

  /// Adds the rows of the run to the sums.
  void end_run();

  LayerStatistics sums_;
  std::size_t num_rows_ = 0;  ///< of the current run
  Run actual_;
  Run original_;
};

}  // namespace halftone::compress

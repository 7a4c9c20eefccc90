// SPDX-License-Identifier: Apache-2.0
// Second moments of a layer's inputs over the calibration data, of fixed size.
#pragma once

#include <cstddef>
#include <tuple>

#include "halftone/base/view.h"
#include "halftone/compress/fit/parameters.h"
#include "halftone/spmd/tree.h"

namespace halftone::compress {

/// Moments of a layer's inputs x in the float network and of its actual inputs q, which come from
/// the quantized layers before it. Sums are float64 in the order of add(), so the same batches in
/// the same order give the same bits. Memory: 16 n^2 bytes.
class LayerStatistics {
 public:
  explicit LayerStatistics(std::size_t num_inputs);

  /// Adds a batch.
  /// @param actual    [rows, n] q
  /// @param original  [rows, n] x
  /// @pre the extents agree
  void add(MatrixView<const float> actual, MatrixView<const float> original);

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

}  // namespace halftone::compress

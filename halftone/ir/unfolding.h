// SPDX-License-Identifier: Apache-2.0
// A layer's inputs as the rows that its weights' matrix multiplies.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/ir/graph.h"

namespace halftone::ir {

/// For a fully connected layer the rows are its input's. For a convolution there is one row for
/// each output position: what all taps see there, zero where they see padding (im2col); outputs are
/// in groups of equal size, and each group sees channels of its own.
class Unfolding {
 public:
  /// @pre layer is a FullyConnected, Conv or ConvTranspose
  Unfolding(const Graph& graph, const Node& layer);
  /// Rows as they are, as a fully connected layer with so many inputs has them.
  explicit Unfolding(std::size_t num_cols) : num_cols_(num_cols) {}

  [[nodiscard]] std::size_t num_groups() const { return num_groups_; }
  /// Columns of a row, and of the matrix of weights.
  [[nodiscard]] std::size_t num_cols() const { return num_cols_; }

  /// Rows of one sample, and so many elements of it; a fully connected layer's samples are rows.
  [[nodiscard]] std::size_t rows_per_sample() const;
  [[nodiscard]] std::size_t sample_elements() const;
  /// Writes the rows of one sample that a group sees.
  /// @param sample  [sample_elements()]
  /// @param rows    [rows_per_sample(), num_cols()]
  void gather(const float* sample, std::size_t group, float* rows) const;
  /// The transpose of gather(): adds each element of the rows to where it came from.
  void scatter_add(const float* rows, std::size_t group, float* sample) const;

  using Visit =
      std::function<void(std::size_t group, MatrixView<const float> a, MatrixView<const float> b)>;
  /// Visits the rows of two inputs of the layer side by side, a block of them at a time.
  /// @param a  [N, ...] as the layer's input, b likewise
  void for_each_block(std::span<const float> a, std::span<const float> b, const Visit& visit) const;

 private:
  static constexpr std::size_t kPadding = std::numeric_limits<std::size_t>::max();

  void find_positions(const Conv& op, const Graph& graph, const Node& layer);
  void find_positions(const ConvTranspose& op, const Graph& graph, const Node& layer);
  std::size_t num_groups_ = 1;
  std::size_t num_cols_ = 0;
  std::size_t channels_ = 0;         ///< of the input
  std::size_t group_channels_ = 0;   ///< of the input, one group's
  std::size_t sample_elements_ = 0;  ///< of the input
  std::size_t num_taps_ = 0;
  std::vector<std::size_t> positions_;  ///< [outputs, taps] of the input; kPadding outside it
};

}  // namespace halftone::ir

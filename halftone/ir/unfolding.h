// SPDX-License-Identifier: Apache-2.0
// A layer's inputs as rows of the matrix that its weights multiply.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// For a fully connected layer, the rows are those of its input. A convolution has one row per
/// output position (im2col): the inputs of all taps there, zero for padding. Outputs form groups of
/// equal size, and each group reads its own channels.
class Unfolding {
 public:
  /// @pre layer is a FullyConnected, Conv or ConvTranspose
  Unfolding(const Graph& graph, const Node& layer);
  /// Rows used as they are, for a fully connected layer with `num_cols` inputs.
  explicit Unfolding(std::size_t num_cols) : num_cols_(num_cols) {}

  [[nodiscard]] std::size_t num_groups() const { return num_groups_; }
  /// Columns of a row and of the weight matrix.
  [[nodiscard]] std::size_t num_cols() const { return num_cols_; }

  /// Rows and elements per sample; for a fully connected layer, a sample is one row.
  [[nodiscard]] std::size_t rows_per_sample() const;
  [[nodiscard]] std::size_t sample_elements() const;
  /// Writes the rows of one sample that belong to a group.
  /// @param sample  [sample_elements()]
  /// @param rows    [rows_per_sample(), num_cols()]
  void gather(const float* sample, std::size_t group, float* rows) const;
  /// Writes one of these rows, [num_cols()].
  void gather_row(const float* sample, std::size_t index, std::size_t group, float* row) const;
  /// The transpose of gather(): adds each element of the rows to the element it was copied from.
  void scatter_add(const float* rows, std::size_t group, float* sample) const;

 private:
  static constexpr std::size_t kPadding = std::numeric_limits<std::size_t>::max();

  /// @param transposed  whether the window moves over the outputs, as that of a ConvTranspose
  void find_positions(const Window& window, bool transposed, const Graph& graph, const Node& layer);
  std::size_t num_groups_ = 1;
  std::size_t num_cols_ = 0;
  std::size_t channels_ = 0;         ///< of the input
  std::size_t group_channels_ = 0;   ///< of the input, one group's
  std::size_t sample_elements_ = 0;  ///< of the input
  std::size_t num_taps_ = 0;
  std::vector<std::size_t> positions_;  ///< [outputs, taps] of the input; kPadding outside it
};

}  // namespace halftone::ir

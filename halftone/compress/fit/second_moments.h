// SPDX-License-Identifier: Apache-2.0
// Second moments of a wide layer's inputs, which several matrices share.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/base/view.h"

namespace halftone::compress {

/// E[x x'] of the rows x of a stream. Products are summed in float32 over runs of kRunRows rows,
/// and runs are added in float32; of the symmetric result only the upper triangle is computed. The
/// same rows give the same bits, however they are divided among calls and threads. Memory:
/// 8 n^2 + 4 kRunRows n bytes.
///
/// Differs from LayerStatistics: one input, no means, and half of the memory. Language models have
/// inputs of thousands of numbers around zero.
class SecondMoments {
 public:
  static constexpr std::size_t kRunRows = 512;

  explicit SecondMoments(std::size_t num_inputs);

  /// @param rows  [rows, n]
  void add(MatrixView<const float> rows);
  [[nodiscard]] std::size_t num_inputs() const { return num_inputs_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  /// [n, n] E[x x'], symmetric; zeros without rows. This object is empty afterwards.
  /// @throws Error kFormat if a moment is not finite
  [[nodiscard]] std::vector<float> finish();

 private:
  void end_run();

  std::size_t num_inputs_;
  std::size_t count_ = 0;
  std::size_t num_rows_ = 0;   ///< of the current run
  std::vector<float> rows_;    ///< [kRunRows, n]
  std::vector<float> run_;     ///< [n, n] products of the current run
  std::vector<float> totals_;  ///< [n, n] of earlier runs
};

}  // namespace halftone::compress

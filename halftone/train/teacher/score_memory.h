// SPDX-License-Identifier: Apache-2.0
// Scores of teachers, kept in memory for later epochs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::train {

/// The scores of all samples that teachers have answered so far. Several threads may use it at once
/// for disjoint samples.
class ScoreMemory {
 public:
  ScoreMemory(std::size_t samples, std::size_t teachers, std::size_t scores);

  /// Whether the scores of all these samples are known.
  [[nodiscard]] bool has(std::span<const std::size_t> samples) const;
  /// @param scores  float32 [teachers, samples, scores]
  void keep(std::span<const std::size_t> samples, const at::Tensor& scores);
  /// float32 [teachers, samples, scores]. @pre has(samples)
  [[nodiscard]] at::Tensor scores(std::span<const std::size_t> samples) const;

 private:
  at::Tensor scores_;  ///< [samples, teachers, scores]
  std::vector<char> is_known_;
};

}  // namespace halftone::train

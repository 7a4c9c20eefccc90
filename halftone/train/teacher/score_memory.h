// SPDX-License-Identifier: Apache-2.0
// Answers that need not be asked for again.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::train {

/// The scores of those samples of a data set that teachers were asked about. Several threads may
/// use it at once for samples of their own.
class ScoreMemory {
 public:
  ScoreMemory(std::size_t samples, std::size_t teachers, std::size_t classes);

  /// Whether scores of all these are known.
  [[nodiscard]] bool has(std::span<const std::size_t> samples) const;
  /// @param scores  float32 [teachers, samples, classes]
  void keep(std::span<const std::size_t> samples, const at::Tensor& scores);
  /// As kept. @pre has(samples)
  [[nodiscard]] at::Tensor scores(std::span<const std::size_t> samples) const;

 private:
  at::Tensor scores_;  ///< [samples, teachers, classes]
  std::vector<char> is_known_;
};

}  // namespace halftone::train

// SPDX-License-Identifier: Apache-2.0
// The results of a run, epoch by epoch.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace halftone::train {

struct EpochResult {
  double loss = 0;       ///< mean over the samples, during training
  double agreement = 0;  ///< share of samples that agree with the teachers, or else labels
  /// Accuracy on the validation samples, according to their labels or, without labels, to the
  /// teachers.
  std::optional<double> validation_accuracy{};
  double rate = 0;  ///< learning rate of the last step
  double seconds = 0;
};

/// The epoch with the highest validation accuracy, the first of equal ones; nothing if no epoch has
/// one.
std::optional<std::size_t> best_epoch(const std::vector<EpochResult>& epochs);

}  // namespace halftone::train

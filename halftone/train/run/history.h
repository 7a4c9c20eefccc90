// SPDX-License-Identifier: Apache-2.0
// How a run went.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace halftone::train {

struct EpochResult {
  double loss = 0;  ///< mean over the samples, as they were trained on
  double agreement =
      0;  ///< share of the samples with the teachers' answer; without them, the label's
  /// Of the samples never trained on, the share with the right answer: the label's; without labels,
  /// the teachers'.
  std::optional<double> held_out{};
  double rate = 0;  ///< learning rate of the last step
  double seconds = 0;
};

/// The epoch with the largest held-out share, the first of equal ones; nothing if none has one.
std::optional<std::size_t> best_epoch(const std::vector<EpochResult>& epochs);

}  // namespace halftone::train

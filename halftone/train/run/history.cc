// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/history.h"

namespace halftone::train {

std::optional<std::size_t> best_epoch(const std::vector<EpochResult>& epochs) {
  std::optional<std::size_t> best;
  for (std::size_t e = 0; e < epochs.size(); ++e) {
    if (!epochs[e].validation_accuracy) continue;
    if (!best || *epochs[e].validation_accuracy > *epochs[*best].validation_accuracy) best = e;
  }
  return best;
}

}  // namespace halftone::train

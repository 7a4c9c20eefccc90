// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/history.h"

namespace halftone::train {

std::optional<std::size_t> best_epoch(const std::vector<EpochResult>& epochs) {
  std::optional<std::size_t> best;
  for (std::size_t e = 0; e < epochs.size(); ++e) {
    if (!epochs[e].held_out) continue;
    if (!best || *epochs[e].held_out > *epochs[*best].held_out) best = e;
  }
  return best;
}

}  // namespace halftone::train

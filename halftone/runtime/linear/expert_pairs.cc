// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/expert_pairs.h"

#include <numeric>

#include "halftone/ir/ops/indexing.h"

namespace halftone::runtime {

void ExpertPairs::sort(Indices chosen) const {
  std::ranges::fill(ends_, 0);
  for (std::size_t pair = 0; pair < places_.size(); ++pair) {
    ++ends_[ir::resolve_index(chosen[pair], experts()) + 2];
  }
  // Now where the pairs of each expert begin, which moves to where they end.
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  for (std::size_t pair = 0; pair < places_.size(); ++pair) {
    const std::size_t place = ends_[ir::resolve_index(chosen[pair], experts()) + 1]++;
    places_[pair] = place;
    sorted_[place] = pair;
  }
}

}  // namespace halftone::runtime

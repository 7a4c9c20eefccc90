// SPDX-License-Identifier: Apache-2.0
// Divides samples into those that a fit sees and those that judge it.
#pragma once

#include <cstddef>

#include "halftone/data/dataset.h"

namespace halftone::data {

struct HeldOut {
  Dataset fit;
  Dataset judged;
};

/// Holds out every `every`-th sample: numbers every - 1, 2 every - 1, ...; of fewer samples the
/// last one. So sorted samples are divided evenly, and the same samples always the same way.
/// @param every  at least 2
/// @throws Error kUsage if there is one sample only
HeldOut hold_out(const Dataset& samples, std::size_t every);

}  // namespace halftone::data

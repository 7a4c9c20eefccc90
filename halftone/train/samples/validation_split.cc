// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/samples/validation_split.h"

#include <string>

#include "halftone/base/error.h"
#include "halftone/base/random.h"

namespace halftone::train {

Split split_samples(std::size_t samples, double share, std::uint64_t seed) {
  if (!(share >= 0 && share < 1)) {
    fail(ErrorKind::kUsage, "validation split: expected a share of at least 0 and below 1, found " +
                                std::to_string(share));
  }
  auto wanted = static_cast<std::size_t>(share * static_cast<double>(samples));
  Split split;
  Random random(seed ^ 0xd1b54a32d192ed03U);
  // Selection sampling: each remaining sample is equally likely to be selected.
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const bool is_validation = wanted > 0 && random.below(samples - sample) < wanted;
    (is_validation ? split.validation : split.training).push_back(sample);
    if (is_validation) --wanted;
  }
  return split;
}

}  // namespace halftone::train

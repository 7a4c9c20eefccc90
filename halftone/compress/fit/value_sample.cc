// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/value_sample.h"

#include <algorithm>

#include "halftone/base/random.h"

namespace halftone::compress {

ValueSample::Picks::Picks(std::size_t stream_size, std::size_t most, std::uint64_t seed)
    : stride_(std::max<std::size_t>(1, (stream_size + most - 1) / most)) {
  Random random(seed);
  for (std::size_t stratum = 0; stratum < stream_size; stratum += stride_) {
    const std::size_t place = stratum + static_cast<std::size_t>(random.below(stride_));
    if (place < stream_size) places_.push_back(place);
  }
}

std::span<const std::size_t> ValueSample::Picks::within(std::size_t begin, std::size_t end) const {
  const auto first = std::lower_bound(places_.begin(), places_.end(), begin);
  return {first, std::lower_bound(first, places_.end(), end)};
}

}  // namespace halftone::compress

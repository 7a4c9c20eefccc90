// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/value_sample.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::compress {

ValueSample::ValueSample(std::size_t stream_size, std::size_t most, std::uint64_t seed)
    : stride_(std::max<std::size_t>(1, (stream_size + most - 1) / most)), random_(seed) {
  pick_next();
}

void ValueSample::add(std::span<const float> actual, std::span<const float> original) {
  HALFTONE_ASSERT(actual.size() == original.size());
  while (pick_ < position_ + actual.size()) {
    actual_.push_back(actual[pick_ - position_]);
    original_.push_back(original[pick_ - position_]);
    stratum_ += stride_;
    pick_next();
  }
  position_ += actual.size();
}

void ValueSample::pick_next() {
  pick_ = stratum_ + static_cast<std::size_t>(random_.below(stride_));
}

}  // namespace halftone::compress

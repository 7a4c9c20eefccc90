// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/samples/validation_accuracy.h"

#include <algorithm>

#include "halftone/base/parallel.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"

namespace halftone::train {

double validation_accuracy(std::span<const std::size_t> samples, std::size_t lane,
                           const spmd::Devices& devices, const CountRight& num_right) {
  constexpr const char* kAxis = "held out";
  const auto count = [&] {
    const ThreadLimit limit(1);
    const std::size_t first = spmd::axis_index(kAxis) * lane;
    return spmd::Array::of(
        {num_right(samples.subspan(first, std::min(lane, samples.size() - first)))});
  };
  const std::size_t lanes = (samples.size() + lane - 1) / lane;
  const spmd::Array right =
      spmd::spread_sum(count, {.axis_name = kAxis, .axis_size = lanes, .devices = devices})();
  return right.as<double>()[0] / static_cast<double>(samples.size());
}

}  // namespace halftone::train

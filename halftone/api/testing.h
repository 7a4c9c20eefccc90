// SPDX-License-Identifier: Apache-2.0
// Samples for tests.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/data/open_dataset.h"

namespace halftone::test {

/// Normal numbers as the samples of a network with one input. The first extent is their count.
inline data::Dataset normal_samples(std::vector<std::size_t> shape) {
  std::size_t count = 1;
  for (const std::size_t n : shape) count *= n;
  std::vector<float> values(count);
  Random random(7);
  for (float& x : values) x = static_cast<float>(random.normal());
  const auto bytes = std::as_bytes(std::span(values));
  return data::dataset_from_arrays("samples",
                                   {{.input = "",
                                     .type = data::Scalar::kFloat32,
                                     .shape = std::move(shape),
                                     .bytes = own_bytes({bytes.begin(), bytes.end()})}},
                                   {});
}

}  // namespace halftone::test

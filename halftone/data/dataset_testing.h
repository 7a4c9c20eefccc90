// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests of this folder.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/base/testing.h"
#include "halftone/data/dataset.h"

namespace halftone::data {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// Samples [first, first + count) of an input, as stored.
inline std::vector<float> read_samples(const Dataset& dataset, std::size_t input, std::size_t first,
                                       std::size_t count) {
  std::vector<float> result(count * dataset.inputs()[input].shape.num_elements());
  dataset.read(input, first, count, result);
  return result;
}

}  // namespace halftone::data

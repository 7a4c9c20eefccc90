// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests of this folder.
// Makes IDX bytes for tests.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A header with `extents`, then `num_elements` bytes 0, 1, 2, ...
inline std::vector<std::byte> make_idx(const std::vector<std::uint32_t>& extents,
                                       std::size_t num_elements) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, std::byte{8},
                                  static_cast<std::byte>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::byte>(extent >> shift & 0xff));
    }
  }
  for (std::size_t i = 0; i < num_elements; ++i) bytes.push_back(static_cast<std::byte>(i & 0xff));
  return bytes;
}

}  // namespace halftone::data

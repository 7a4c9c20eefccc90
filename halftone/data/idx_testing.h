// SPDX-License-Identifier: Apache-2.0
// Makes IDX bytes for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halftone::data {

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

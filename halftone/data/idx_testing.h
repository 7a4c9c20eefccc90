// SPDX-License-Identifier: Apache-2.0
// Makes IDX and gzip bytes for tests.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/data/deflate_testing.h"

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

/// One gzip stream.
inline std::vector<std::byte> gzip(const std::vector<std::byte>& bytes) {
  const std::string packed =
      deflated({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, MAX_WBITS + 16);
  const auto* begin = reinterpret_cast<const std::byte*>(packed.data());
  return {begin, begin + packed.size()};
}

}  // namespace halftone::data

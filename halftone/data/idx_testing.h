// SPDX-License-Identifier: Apache-2.0
// Makes IDX and gzip bytes for tests.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
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

/// One gzip stream.
inline std::vector<std::byte> gzip(const std::vector<std::byte>& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> packed(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace halftone::data

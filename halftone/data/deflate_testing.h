// SPDX-License-Identifier: Apache-2.0
// Compresses bytes for tests.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

namespace halftone::data {

/// One deflate stream. @param window_bits  as in zlib: negative for raw data, + 16 for gzip
inline std::string deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace halftone::data

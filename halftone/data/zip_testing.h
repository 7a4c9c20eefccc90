// SPDX-License-Identifier: Apache-2.0
// Compresses bytes for tests.
// Makes ZIP archives for tests.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/gzip/gzip.h"
#include "halftone/data/dataset_testing.h"

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

struct TestEntry {
  std::string name;
  std::string text;
  bool is_deflated = false;
};

inline std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
  }
  return text;
}

/// A ZIP archive. @param is_long  whether sizes and offsets are stored in 64 bits
inline std::vector<std::byte> make_zip(const std::vector<TestEntry>& entries,
                                       bool is_long = false) {
  std::string file;
  std::string directory;
  for (const TestEntry& entry : entries) {
    const std::string packed = entry.is_deflated ? deflated(entry.text, -MAX_WBITS) : entry.text;
    const std::string method = number(0, 2) + number(entry.is_deflated ? 8 : 0, 2) + number(0, 4);
    const std::string checksum = number(crc32_of(bytes_of(entry.text)), 4);
    const auto short_number = [&](std::uint64_t value) {
      return is_long ? std::string(4, '\xff') : number(value, 4);
    };
    const std::string sizes = short_number(packed.size()) + short_number(entry.text.size());
    std::string extra;
    if (is_long) {
      extra = number(1, 2) + number(24, 2) + number(entry.text.size(), 8) +
              number(packed.size(), 8) + number(file.size(), 8);
    }
    const std::string name_bytes = number(entry.name.size(), 2);
    directory += "PK\1\2" + number(45, 2) + number(45, 2) + method + checksum + sizes + name_bytes +
                 number(extra.size(), 2) + number(0, 10) + short_number(file.size()) + entry.name +
                 extra;
    file += "PK\3\4" + number(45, 2) + method + checksum + sizes + name_bytes + number(0, 2) +
            entry.name + packed;
  }
  const std::size_t offset = file.size();
  const std::size_t count = entries.size();
  file += directory;
  if (is_long) {
    const std::size_t end = file.size();
    file += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
            number(count, 8) + number(count, 8) + number(directory.size(), 8) + number(offset, 8);
    file += "PK\6\7" + number(0, 4) + number(end, 8) + number(1, 4);
  }
  file += "PK\5\6" + number(0, 4) + number(count, 2) + number(count, 2) +
          number(is_long ? 0xffffffff : directory.size(), 4) +
          number(is_long ? 0xffffffff : offset, 4) + number(0, 2);
  return bytes_of(file);
}

}  // namespace halftone::data

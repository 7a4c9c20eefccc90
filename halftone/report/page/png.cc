// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/png.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "halftone/base/base64.h"

namespace halftone::report::page {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

const Bytef* bytes_of(const std::string& text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

std::string chunk(const std::string& type, const std::string& content) {
  const std::string body = type + content;
  const uLong sum = crc32_z(0, bytes_of(body), body.size());
  return big_endian(static_cast<std::uint32_t>(content.size())) + body +
         big_endian(static_cast<std::uint32_t>(sum));
}

/// A zlib stream of stored blocks.
std::string stored(const std::string& content) {
  constexpr std::size_t kMaxBlock = 65535;
  std::string stream = "\x78\x01";
  for (std::size_t first = 0; first < content.size(); first += kMaxBlock) {
    const std::size_t size = std::min(kMaxBlock, content.size() - first);
    stream += static_cast<char>(first + size == content.size() ? 1 : 0);
    for (const std::size_t length : {size, ~size}) {
      stream += static_cast<char>(length & 0xFF);
      stream += static_cast<char>(length >> 8 & 0xFF);
    }
    stream += content.substr(first, size);
  }
  const uLong sum = adler32_z(adler32_z(0, nullptr, 0), bytes_of(content), content.size());
  return stream + big_endian(static_cast<std::uint32_t>(sum));
}

}  // namespace

std::string png(const SamplePicture& picture) {
  const bool is_grey = picture.channels == 1;
  std::string header = big_endian(static_cast<std::uint32_t>(picture.width)) +
                       big_endian(static_cast<std::uint32_t>(picture.height));
  header += '\x08';                     // bits
  header += is_grey ? '\x00' : '\x02';  // grey or RGB
  header += std::string(3, '\0');       // compression, filter and interlace methods
  std::string lines;
  const std::size_t line = picture.width * picture.channels;
  for (std::size_t y = 0; y < picture.height; ++y) {
    lines += '\0';  // no filter
    for (std::size_t i = 0; i < line; ++i) lines += static_cast<char>(picture.pixels[y * line + i]);
  }
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", stored(lines)) +
         chunk("IEND", "");
}

std::string data_address(const std::string& png) {
  return "data:image/png;base64," + to_base64(png);
}

}  // namespace halftone::report::page

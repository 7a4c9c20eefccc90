// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/png.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halftone::report::page {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

/// The check sum of chunks: CRC-32 of ISO 3309.
std::uint32_t crc(std::string_view bytes) {
  constexpr std::uint32_t kPolynomial = 0xEDB88320;
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
  }
  return ~sum;
}

std::string chunk(const std::string& type, const std::string& content) {
  return big_endian(static_cast<std::uint32_t>(content.size())) + type + content +
         big_endian(crc(type + content));
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
  std::uint32_t a = 1;  // Adler-32
  std::uint32_t b = 0;
  for (const char byte : content) {
    constexpr std::uint32_t kModulus = 65521;
    a = (a + static_cast<unsigned char>(byte)) % kModulus;
    b = (b + a) % kModulus;
  }
  return stream + big_endian(b << 16 | a);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      result += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return result;
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

std::string data_address(const std::string& png) { return "data:image/png;base64," + base64(png); }

}  // namespace halftone::report::page

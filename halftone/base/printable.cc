// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/printable.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/base/error.h"

namespace halftone {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(unsigned byte) { return (byte & 0xC0U) == 0x80U; }

/// The length of the sequence that starts with a byte; 0 if the byte cannot start one.
std::size_t sequence_bytes(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/// Whether a second byte belongs to a well-formed sequence: no overlong form, surrogate or code
/// point above 10FFFF, and no control character from 80 to 9F.
bool may_follow(unsigned first, unsigned second) {
  if (!is_continuation(second)) return false;
  if (first == 0xC2 || first == 0xE0) return second >= 0xA0;
  if (first == 0xED) return second <= 0x9F;
  if (first == 0xF0) return second >= 0x90;
  return first != 0xF4 || second <= 0x8F;
}

/// Whether a well-formed sequence of two or three bytes may not be shown: controls of direction,
/// with which a name could look like another, and of lines, and what is no character (FFFE, FFFF).
bool is_hidden(std::string_view sequence) {
  constexpr std::array<std::string_view, 16> kHidden = {
      "\xD8\x9C",     "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xA8",
      "\xE2\x80\xA9", "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC",
      "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA7",
      "\xE2\x81\xA8", "\xE2\x81\xA9", "\xEF\xBF\xBE", "\xEF\xBF\xBF"};
  return std::ranges::find(kHidden, sequence) != kHidden.end();
}

/// The length of the printable character at position i; 0 if there is none.
std::size_t printable_bytes(std::string_view text, std::size_t i) {
  const unsigned first = byte_at(text, i);
  const std::size_t bytes = sequence_bytes(first);
  if (bytes == 1) return first == '\n' || (first >= 0x20 && first != 0x7F) ? 1 : 0;
  if (bytes == 0 || i + bytes > text.size() || !may_follow(first, byte_at(text, i + 1))) return 0;
  for (std::size_t k = 2; k < bytes; ++k) {
    if (!is_continuation(byte_at(text, i + k))) return 0;
  }
  return is_hidden(text.substr(i, bytes)) ? 0 : bytes;
}

}  // namespace

std::string printable_line(std::string_view text) {
  std::string result = printable(text);
  for (std::size_t at = 0; (at = result.find('\n', at)) != std::string::npos;) {
    result.replace(at, 1, "\\x0A");
  }
  return result;
}

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t bytes = printable_bytes(text, i); bytes > 0) {
      result += text.substr(i, bytes);
      i += bytes;
      continue;
    }
    const unsigned byte = byte_at(text, i++);
    result += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return result;
}

std::string number_text(double x) { return std::isnan(x) ? "NaN" : std::to_string(x); }

std::string shortened(std::string_view text, std::size_t max_bytes) {
  HALFTONE_ASSERT(max_bytes >= 100);
  if (text.size() <= max_bytes) return std::string(text);
  constexpr std::size_t kMaxMarkBytes = 50;  // with a count of 20 digits
  const std::size_t kept = max_bytes - kMaxMarkBytes;
  std::size_t head = kept * 2 / 3;
  std::size_t tail = text.size() - (kept - head);
  while (head > 0 && is_continuation(byte_at(text, head))) --head;
  while (tail < text.size() && is_continuation(byte_at(text, tail))) ++tail;
  return std::string(text.substr(0, head)) + " ... (" + std::to_string(tail - head) +
         " bytes omitted) ... " + std::string(text.substr(tail));
}

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/charsmap.h"

#include "halftone/base/base64.h"
#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

[[noreturn]] void fail_map(const std::string& found) {
  fail(ErrorKind::kFormat, "precompiled_charsmap: expected a map of SentencePiece, found " + found);
}

std::uint32_t number_at(std::string_view file, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = (value << 8) | static_cast<std::uint8_t>(file[at + i]);
  }
  return value;
}

std::size_t distance_of(std::uint32_t entry) {
  return static_cast<std::size_t>(entry >> 10) << ((entry & (1U << 9)) >> 6);
}

}  // namespace

Charsmap::Charsmap(std::string_view file) {
  if (file.empty()) return;  // a map of nothing
  if (file.size() < 4) fail_map("a file of " + std::to_string(file.size()) + " bytes");
  const std::size_t array_bytes = number_at(file, 0);
  if (array_bytes == 0 || array_bytes % 4 != 0 || array_bytes > file.size() - 4) {
    fail_map("an array of " + std::to_string(array_bytes) + " bytes");
  }
  for (std::size_t at = 4; at < 4 + array_bytes; at += 4) array_.push_back(number_at(file, at));
  contents_ = file.substr(4 + array_bytes);
  check_utf8(contents_);
}

std::uint32_t Charsmap::entry(std::size_t index) const {
  if (index >= array_.size()) fail_map("an entry beyond its array");
  return array_[index];
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool is_shortest) const {
  constexpr std::uint32_t kValueBit = 1U << 8;
  constexpr std::uint32_t kLabel = (1U << 31) | 0xFF;
  std::optional<Match> found;
  if (array_.empty()) return found;
  std::size_t node = distance_of(entry(0));
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    node ^= byte;
    const std::uint32_t unit = entry(node);
    if ((unit & kLabel) != byte) break;
    node ^= distance_of(unit);
    if ((unit & kValueBit) == 0) continue;
    const std::size_t at = entry(node) & ~(1U << 31);
    // A content may begin inside another one, never inside a character.
    if (at > contents_.size() ||
        (at < contents_.size() && (static_cast<std::uint8_t>(contents_[at]) & 0xC0) == 0x80)) {
      fail_map("a text that begins at " + std::to_string(at));
    }
    const std::string_view rest = std::string_view(contents_).substr(at);
    found = {i + 1, rest.substr(0, rest.find('\0'))};
    if (is_shortest) break;
  }
  return found;
}

std::optional<Charsmap::Match> Charsmap::shortest(std::string_view text) const {
  return find(text, true);
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text) const {
  return find(text, false);
}

std::string from_base64(std::string_view text) {
  std::optional<std::string> bytes = halftone::from_base64(text);
  if (!bytes) fail_map("a text that is not base64");
  return *std::move(bytes);
}

}  // namespace halftone::lm

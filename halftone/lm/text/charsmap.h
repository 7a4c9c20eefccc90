// SPDX-License-Identifier: Apache-2.0
// SentencePiece's map of characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

/// What texts become: a trie as a double array, and the texts. An entry of the array has a label in
/// bits 0 to 7 and 31, bit 8 if a value follows, and the distance to its children, in bits 10 on,
/// shifted by 8 where bit 9 is set. Source: darts-clone, and normalizer.cc of SentencePiece.
class Charsmap {
 public:
  struct Match {
    std::size_t length = 0;  ///< in bytes
    std::string_view content;
  };

  /// @param file  the array's bytes as a number of 32 bits, the array, the texts, which end in NUL
  /// @throws Error kFormat if it is malformed
  explicit Charsmap(std::string_view file);

  /// Of the shortest beginning of a text that the map has.
  [[nodiscard]] std::optional<Match> shortest(std::string_view text) const;
  /// Of the longest one.
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<Match> find(std::string_view text, bool is_shortest) const;
  [[nodiscard]] std::uint32_t entry(std::size_t index) const;

  std::vector<std::uint32_t> array_;
  std::string contents_;
};

/// The bytes of a text in base64. @throws Error kFormat if it is none
std::string from_base64(std::string_view text);

}  // namespace halftone::lm

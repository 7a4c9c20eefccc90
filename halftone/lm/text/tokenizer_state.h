// SPDX-License-Identifier: Apache-2.0
// What a tokenizer consists of. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/text/byte_pairs.h"
#include "halftone/lm/text/splitter.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// U+2581, which stands for a space in SentencePiece's tokens.
inline constexpr std::string_view kSpaceSign = "\xE2\x96\x81";

struct Tokenizer::State {
  Vocabulary vocabulary;
  TokenId begin = kNoToken;
  TokenId end = kNoToken;
  TokenId unknown = kNoToken;
  bool adds_begin = false;
  bool adds_space = false;             ///< in front of a text
  bool takes_whole_words = false;      ///< byte-level: a word that is a token is not split
  bool composes = false;               ///< texts become Unicode's form NFC first
  std::optional<Splitter> splitter{};  ///< byte-level
  std::optional<BytePairs> pairs{};    ///< byte-level, else SentencePiece

  /// Appends the tokens of a text without control tokens. @param is_first  in the whole text
  void encode(std::string_view text, bool is_first, std::vector<TokenId>& tokens) const;
  /// Appends the tokens of a text without user-defined tokens either.
  void encode_words(std::string_view text, std::vector<TokenId>& tokens) const;
};

/// Every `from` replaced by `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);
/// The byte of a token "<0x0A>"; nothing for other texts.
std::optional<char> byte_named(std::string_view text);

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// What a tokenizer consists of. Private to this folder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/text/added_tokens.h"
#include "halftone/lm/text/byte_pairs.h"
#include "halftone/lm/text/normalizer.h"
#include "halftone/lm/text/pre_tokenizer.h"
#include "halftone/lm/text/split_rules.h"
#include "halftone/lm/text/text_decoder.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/text/vocabulary.h"
#include "halftone/lm/text/word_model.h"

namespace halftone::lm {

/// U+2581, which represents a space in SentencePiece's tokens.
inline constexpr std::string_view kSpaceSign = "\xE2\x96\x81";

/// How GGUF files name what a tokenizer does.
struct GgufName {
  enum class Kind : std::uint8_t { kNone, kBytes, kScores };
  Kind model = Kind::kNone;  ///< kNone: they have no name for it
  bool adds_space = false;
  SplitRule rule{};  ///< of kBytes: all but its name
};

/// A text goes through added tokens, the normalizer, added tokens again, the pre-tokenizer and the
/// model; then it gets its front and back.
struct Tokenizer::State {
  explicit State(Vocabulary tokens);
  State(const State&) = delete;  // the model refers to the vocabulary
  State& operator=(const State&) = delete;
  /// What a token is in a text. @param is_begin  of the text
  [[nodiscard]] std::string text_of(const Token& token, bool is_begin) const;

  Vocabulary vocabulary;
  std::vector<bool> is_control{};  ///< by id
  AddedTokens added{};             ///< found in the text as it is
  AddedTokens added_to_normal{};   ///< found in the normal text
  Normalizer normalizer{};
  PreTokenizer pre_tokenizer{};
  std::unique_ptr<const WordModel> model{};
  TextDecoder decoder{};
  bool shows_byte_names = false;  ///< a token "<0x0A>" is this text
  TokenId begin = kNoToken;
  TokenId end = kNoToken;
  TokenId unknown = kNoToken;
  std::vector<TokenId> front{};  ///< of a text
  std::vector<TokenId> back{};
  std::optional<std::size_t> max_tokens{};  ///< to which a file would cut texts
  GgufName gguf_name{};
  std::string warning{};
};

/// Makes a tokenizer of SentencePiece's pairs. @param adds_space  in front of texts
void set_sentence_pieces(Tokenizer::State& state, bool adds_space);

/// The byte of a token "<0x0A>"; nothing for other texts.
std::optional<char> byte_named(std::string_view text);
/// "<0x0A>"
std::string name_of_byte(std::uint8_t byte);

}  // namespace halftone::lm

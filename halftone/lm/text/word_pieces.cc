// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/word_pieces.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

void append_unknown_word(TokenId unknown, std::string_view word, std::vector<TokenId>& tokens) {
  if (unknown == kNoToken) {
    fail(ErrorKind::kFormat,
         "vocabulary: expected an unknown token, which '" + std::string(word) + "' needs");
  }
  tokens.push_back(unknown);
}

}  // namespace

WordPieces::WordPieces(const Vocabulary& vocabulary, WordPieceOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    longest_ = std::max(longest_, vocabulary.token(static_cast<TokenId>(i)).text.size());
  }
}

bool WordPieces::append_pieces(std::string_view word, const AllowedTokens& allows,
                               std::vector<TokenId>& tokens) const {
  for (std::size_t begin = 0; begin < word.size();) {
    std::string text = begin == 0 ? options_.first_prefix : options_.continuing_prefix;
    const std::size_t prefix = text.size();
    text += word.substr(begin, longest_);
    TokenId token = kNoToken;
    while (text.size() > prefix && token == kNoToken) {
      token = allows.checked(vocabulary_.find(text));
      if (token != kNoToken) break;
      while (!begins_character(text.back()) && text.size() > prefix + 1) text.pop_back();
      text.pop_back();
    }
    if (token == kNoToken) return false;
    tokens.push_back(token);
    begin += text.size() - prefix;
  }
  return true;
}

void WordPieces::encode(std::string_view word, const AllowedTokens& allows,
                        std::vector<TokenId>& tokens) const {
  const std::size_t size = tokens.size();
  const auto num_characters =
      static_cast<std::size_t>(std::ranges::count_if(word, begins_character));
  if (num_characters <= options_.max_characters && append_pieces(word, allows, tokens)) return;
  tokens.resize(size);
  append_unknown_word(options_.unknown, word, tokens);
}

void WholeWordModel::encode(std::string_view word, const AllowedTokens& allows,
                            std::vector<TokenId>& tokens) const {
  const TokenId token = allows.checked(vocabulary_.find(word));
  if (token != kNoToken) {
    tokens.push_back(token);
  } else {
    append_unknown_word(unknown_, word, tokens);
  }
}

}  // namespace halftone::lm

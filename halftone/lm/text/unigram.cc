// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/unigram.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {

/// The best way to write what lies before a place.
struct Unigram::Node {
  std::optional<std::size_t> begin{};  ///< of the last token
  TokenId token = kNoToken;            ///< kNoToken: unknown
  double score = 0;
};

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores,
                 std::vector<TextIndex::Entry> entries, double min_score, UnigramOptions options)
    : vocabulary_(vocabulary),
      scores_(std::move(scores)),
      index_(std::move(entries)),
      unknown_score_(min_score - 10),
      options_(options) {}

std::vector<Unigram::Node> Unigram::best_paths(std::string_view word,
                                               const AllowedTokens& allows) const {
  std::vector<Node> nodes(word.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t length, TokenId token, double score) {
    Node& node = nodes[begin + length];
    const double sum = nodes[begin].score + score;
    if (!node.begin || sum > node.score) node = {begin, token, sum};
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view rest = word.substr(at);
    const std::size_t character = std::max(utf8_length(rest), std::size_t{1});
    bool has_character = false;
    index_.for_each_prefix(rest, [&](std::size_t length, TokenId token) {
      if (!allows(token)) return;
      offer(at, length, token == options_.unknown ? kNoToken : token,
            scores_[static_cast<std::size_t>(token)]);
      has_character = has_character || length == character;
    });
    if (!has_character) offer(at, character, kNoToken, unknown_score_);
    at += character;
  }
  return nodes;
}

void Unigram::append_unknown(std::string_view text, const AllowedTokens& allows,
                             std::vector<TokenId>& tokens) const {
  TokenId whole = kNoToken;
  index_.for_each_prefix(text, [&](std::size_t length, TokenId token) {
    if (length == text.size()) whole = allows.checked(token);
  });
  const auto byte = [&](char c) { return vocabulary_.byte(static_cast<std::uint8_t>(c)); };
  const bool has_bytes = options_.falls_back_to_bytes &&
                         std::ranges::none_of(text, [&](char c) { return byte(c) == kNoToken; });
  if (whole != kNoToken) {
    tokens.push_back(whole);
  } else if (has_bytes) {
    for (const char c : text) tokens.push_back(byte(c));
  } else if (options_.unknown != kNoToken) {
    tokens.push_back(options_.unknown);
  } else {
    fail(ErrorKind::kFormat,
         "vocabulary: expected an unknown token, which '" + std::string(text) + "' needs");
  }
}

void Unigram::encode(std::string_view word, const AllowedTokens& allows,
                     std::vector<TokenId>& tokens) const {
  const std::vector<Node> nodes = best_paths(word, allows);
  std::vector<std::pair<std::string_view, TokenId>> parts;  // from the back
  std::size_t end_of_unknown = 0;
  for (std::size_t end = word.size(); end > 0;) {
    const Node& node = nodes[end];
    const std::size_t begin = node.begin.value_or(0);
    const bool continues =
        node.token == kNoToken && !parts.empty() && parts.back().second == kNoToken;
    if (!continues) end_of_unknown = end;
    const std::string_view text = word.substr(begin, end_of_unknown - begin);
    if (continues) {
      parts.back().first = text;
    } else {
      parts.emplace_back(text, node.token);
    }
    end = begin;
  }
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (parts[i].second != kNoToken) {
      tokens.push_back(parts[i].second);
    } else {
      append_unknown(parts[i].first, allows, tokens);
    }
  }
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/byte_pairs.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <span>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();

/// A token of a word under way, linked with its neighbours.
struct LinkedToken {
  TokenId token = kNoToken;  ///< kNoToken: merged into the one before it
  std::size_t previous = kEnd;
  std::size_t next = kEnd;
};

/// Two neighbours that may be merged.
struct Candidate {
  std::uint32_t rank = 0;
  std::size_t left = 0;
  TokenId left_token = kNoToken;
  TokenId right_token = kNoToken;
  TokenId result = kNoToken;

  bool operator<(const Candidate& other) const {  // the queue gives the largest first
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

std::uint64_t key_of(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

/// Whether a byte represents itself.
bool is_printed(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/// The character that represents each byte: up to U+0143.
std::array<char32_t, 256> make_character_of_byte() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) characters[byte] = is_printed(byte) ? byte : next++;
  return characters;
}

/// The inverse; -1: none.
std::array<int, 0x144> make_byte_of_character() {
  std::array<int, 0x144> bytes{};
  bytes.fill(-1);
  const std::array<char32_t, 256> characters = make_character_of_byte();
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[characters[byte]] = static_cast<int>(byte);
  return bytes;
}

}  // namespace

std::optional<std::string> bytes_named_by(std::string_view text) {
  static const std::array<int, 0x144> byte_of = make_byte_of_character();
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return std::nullopt;
    const char32_t character = utf8_code_point(text.substr(at, length));
    if (character >= byte_of.size() || byte_of[character] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[character]);
    at += length;
  }
  return bytes;
}

std::string bytes_from_characters(std::string_view text) {
  return bytes_named_by(text).value_or(std::string(text));
}

std::string characters_from_bytes(std::string_view bytes) {
  static const std::array<char32_t, 256> character_of = make_character_of_byte();
  std::string text;
  for (const char byte : bytes) text += to_utf8(character_of[static_cast<std::uint8_t>(byte)]);
  return text;
}

BytePairs::BytePairs(const Vocabulary& vocabulary,
                     const std::vector<std::pair<std::string, std::string>>& merges,
                     BytePairOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    bytes_[byte] = vocabulary.find({&text, 1});
  }
  std::uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const std::string_view rest =
        std::string_view(right).substr(std::min(right.size(), options_.continuing_prefix.size()));
    const TokenId first = vocabulary.find(left);
    const TokenId second = vocabulary.find(right);
    const TokenId result = vocabulary.find(left + std::string(rest));
    if (first == kNoToken || second == kNoToken || result == kNoToken) {
      fail(ErrorKind::kFormat,
           "merge " + std::to_string(rank) + ": expected tokens of the vocabulary, found others");
    }
    const auto [at, is_new] = merges_.emplace(key_of(first, second), Merge{rank, result});
    if (!is_new && options_.last_rank_counts) at->second.rank = rank;
    ++rank;
  }
}

const BytePairs::Merge* BytePairs::find(TokenId left, TokenId right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::pair<TokenId, TokenId>> BytePairs::merges() const {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> by_rank;
  for (const auto& [key, merge] : merges_) by_rank.emplace_back(merge.rank, key);
  std::ranges::sort(by_rank);
  std::vector<std::pair<TokenId, TokenId>> pairs;
  for (const auto& [rank, key] : by_rank) {
    pairs.emplace_back(static_cast<TokenId>(key >> 32), static_cast<TokenId>(key & 0xFFFFFFFF));
  }
  return pairs;
}

/// A word while its tokens are merged.
class BytePairs::Word {
 public:
  Word(const BytePairs& pairs, const AllowedTokens& allows, std::span<const TokenId> units)
      : pairs_(pairs), allows_(allows) {
    pieces_.reserve(units.size());
    for (const TokenId token : units) {
      pieces_.push_back({token, pieces_.empty() ? kEnd : pieces_.size() - 1, pieces_.size() + 1});
    }
    pieces_.back().next = kEnd;
  }

  void merge() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) offer(i);
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      LinkedToken& left = pieces_[best.left];
      if (left.token != best.left_token || left.next == kEnd) continue;
      LinkedToken& right = pieces_[left.next];
      if (right.token != best.right_token) continue;
      left.token = best.result;
      right.token = kNoToken;
      left.next = right.next;
      if (left.next != kEnd) pieces_[left.next].previous = best.left;
      offer(left.previous);
      offer(best.left);
    }
  }

  void append_to(std::vector<TokenId>& tokens) const {
    for (std::size_t i = 0; i != kEnd; i = pieces_[i].next) tokens.push_back(pieces_[i].token);
  }

 private:
  void offer(std::size_t left) {
    if (left == kEnd || pieces_[left].next == kEnd) return;
    const TokenId first = pieces_[left].token;
    const TokenId second = pieces_[pieces_[left].next].token;
    const Merge* merge = pairs_.find(first, second);
    if (merge != nullptr && allows_(merge->result)) {
      queue_.push({merge->rank, left, first, second, merge->result});
    }
  }

  const BytePairs& pairs_;
  const AllowedTokens& allows_;
  std::vector<LinkedToken> pieces_;
  std::priority_queue<Candidate> queue_;
};

bool BytePairs::is_whole(std::string_view word) const {
  return options_.whole_words == WholeWords::kAll ||
         (options_.whole_words == WholeWords::kLineFeeds &&
          word.find_first_not_of('\n') == std::string_view::npos);
}

std::string BytePairs::marked(std::string_view text, bool is_first, bool is_last) const {
  return (is_first ? "" : options_.continuing_prefix) + std::string(text) +
         (is_last ? options_.end_suffix : "");
}

TokenId BytePairs::unit(std::string_view text, bool is_first, bool is_last) const {
  const bool is_marked = (!is_first && !options_.continuing_prefix.empty()) ||
                         (is_last && !options_.end_suffix.empty());
  if (is_marked) return vocabulary_.find(marked(text, is_first, is_last));
  return text.size() == 1 ? bytes_[static_cast<std::uint8_t>(text[0])] : vocabulary_.find(text);
}

bool BytePairs::add_bytes(const std::string& text, std::vector<TokenId>& units) const {
  const auto token_of = [&](char c) { return vocabulary_.byte(static_cast<std::uint8_t>(c)); };
  const std::string bytes = options_.has_bytes ? characters_from_bytes(text) : text;
  const bool has_bytes = options_.falls_back_to_bytes && std::ranges::none_of(bytes, [&](char c) {
                           return token_of(c) == kNoToken;
                         });
  if (has_bytes) {
    for (const char c : bytes) units.push_back(token_of(c));
  } else if (options_.unknown == kNoToken && options_.names_unknown) {
    fail(ErrorKind::kFormat, "vocabulary: expected the unknown token, which '" + text + "' needs");
  }
  return has_bytes;
}

std::vector<TokenId> BytePairs::units(std::string_view word, const AllowedTokens& allows) const {
  std::vector<TokenId> units;
  units.reserve(word.size());
  bool has_unknown = false;  // one that is not in the list yet
  const auto add_unknown = [&] {
    if (std::exchange(has_unknown, false)) units.push_back(options_.unknown);
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = options_.has_bytes ? 1 : utf8_length(word.substr(at));
    if (length == 0) break;
    const std::string_view text = word.substr(at, length);
    const bool is_first = at == 0;
    at += length;
    const bool is_last = at == word.size();
    const TokenId token = allows.checked(unit(text, is_first, is_last));
    if (token != kNoToken) {
      add_unknown();
      units.push_back(token);
    } else if (!add_bytes(marked(text, is_first, is_last), units)) {
      if (!options_.fuses_unknown) add_unknown();
      has_unknown = options_.unknown != kNoToken;
    }
  }
  add_unknown();
  return units;
}

void BytePairs::encode(std::string_view word, const AllowedTokens& allows,
                       std::vector<TokenId>& tokens) const {
  const TokenId whole = is_whole(word) ? allows.checked(vocabulary_.find(word)) : kNoToken;
  if (whole != kNoToken) {
    tokens.push_back(whole);
    return;
  }
  const std::vector<TokenId> parts = units(word, allows);
  if (parts.empty()) return;
  Word merged(*this, allows, parts);
  merged.merge();
  merged.append_to(tokens);
}

}  // namespace halftone::lm

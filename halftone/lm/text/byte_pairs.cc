// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/byte_pairs.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();

/// A token of a word under way, linked with its neighbours.
struct Piece {
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

/// Whether a byte stands for itself.
bool is_printed(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/// The character that stands for each byte: up to U+0143.
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

std::string bytes_from_characters(std::string_view text) {
  static const std::array<int, 0x144> byte_of = make_byte_of_character();
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return std::string(text);
    const char32_t character = utf8_code_point(text.substr(at, length));
    if (character >= byte_of.size() || byte_of[character] < 0) return std::string(text);
    bytes += static_cast<char>(byte_of[character]);
    at += length;
  }
  return bytes;
}

std::string characters_from_bytes(std::string_view bytes) {
  static const std::array<char32_t, 256> character_of = make_character_of_byte();
  std::string text;
  for (const char byte : bytes) text += to_utf8(character_of[static_cast<std::uint8_t>(byte)]);
  return text;
}

BytePairs::BytePairs(const Vocabulary& vocabulary,
                     const std::vector<std::pair<std::string, std::string>>& merges) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    bytes_[byte] = vocabulary.find({&text, 1});
  }
  std::uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const TokenId first = vocabulary.find(left);
    const TokenId second = vocabulary.find(right);
    const TokenId result = vocabulary.find(left + right);
    if (first == kNoToken || second == kNoToken || result == kNoToken) {
      fail(ErrorKind::kFormat,
           "merge " + std::to_string(rank) + ": expected tokens of the vocabulary, found others");
    }
    merges_.emplace(key_of(first, second), Merge{rank++, result});
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

void BytePairs::encode(std::string_view word, std::vector<TokenId>& tokens) const {
  std::vector<Piece> pieces;
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::size_t left) {
    if (left == kEnd || pieces[left].next == kEnd) return;
    const TokenId first = pieces[left].token;
    const TokenId second = pieces[pieces[left].next].token;
    if (const Merge* merge = find(first, second)) {
      queue.push({merge->rank, left, first, second, merge->result});
    }
  };
  for (const char c : word) {
    const TokenId byte = bytes_[static_cast<std::uint8_t>(c)];
    if (byte == kNoToken) continue;
    pieces.push_back({byte, pieces.empty() ? kEnd : pieces.size() - 1, pieces.size() + 1});
  }
  if (pieces.empty()) return;
  pieces.back().next = kEnd;
  for (std::size_t i = 0; i < pieces.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Piece& left = pieces[best.left];
    if (left.token != best.left_token || left.next == kEnd) continue;
    Piece& right = pieces[left.next];
    if (right.token != best.right_token) continue;
    left.token = best.result;
    right.token = kNoToken;
    left.next = right.next;
    if (left.next != kEnd) pieces[left.next].previous = best.left;
    offer(left.previous);
    offer(best.left);
  }
  for (std::size_t i = 0; i != kEnd; i = pieces[i].next) tokens.push_back(pieces[i].token);
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/scored_pairs.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// A part of the text under way, linked with its neighbours; empty: merged into the one before it.
struct Part {
  std::string_view text;
  std::size_t previous = kNone;
  std::size_t next = kNone;
};

/// Two neighbours that are a token together.
struct Pair {
  float score = 0;
  std::size_t left = 0;
  std::size_t size = 0;  ///< bytes of both, when they were found

  bool operator<(const Pair& other) const {  // the queue gives the largest first
    return score != other.score ? score < other.score : left > other.left;
  }
};

class Merging {
 public:
  Merging(const Vocabulary& vocabulary, const AllowedTokens& allows, std::string_view text)
      : vocabulary_(vocabulary), allows_(allows) {
    while (!text.empty()) {
      const std::size_t length = std::max(utf8_length(text), std::size_t{1});
      const std::size_t index = parts_.size();
      parts_.push_back({text.substr(0, length), index == 0 ? kNone : index - 1, index + 1});
      text.remove_prefix(length);
    }
    if (!parts_.empty()) parts_.back().next = kNone;
  }

  /// The parts that no pair can join.
  std::vector<Part> run() {
    for (std::size_t i = 0; i < parts_.size(); ++i) offer(i);
    while (!queue_.empty()) {
      const Pair best = queue_.top();
      queue_.pop();
      Part& left = parts_[best.left];
      if (left.text.empty() || left.next == kNone) continue;
      Part& right = parts_[left.next];
      if (left.text.size() + right.text.size() != best.size) continue;
      left.text = {left.text.data(), best.size};
      right.text = {};
      left.next = right.next;
      if (left.next != kNone) parts_[left.next].previous = best.left;
      offer(left.previous);
      offer(best.left);
    }
    return std::move(parts_);
  }

 private:
  void offer(std::size_t index) {
    if (index == kNone || parts_[index].next == kNone) return;
    const Part& left = parts_[index];
    const Part& right = parts_[left.next];
    const std::size_t size = left.text.size() + right.text.size();
    const TokenId both = allows_.checked(vocabulary_.find({left.text.data(), size}));
    if (both != kNoToken) queue_.push({vocabulary_.token(both).score, index, size});
  }

  const Vocabulary& vocabulary_;
  const AllowedTokens& allows_;
  std::vector<Part> parts_;
  std::priority_queue<Pair> queue_;
};

}  // namespace

void ScoredPairs::encode(std::string_view word, const AllowedTokens& allows,
                         std::vector<TokenId>& tokens) const {
  const std::vector<Part> parts = Merging(vocabulary_, allows, word).run();
  for (const Part& part : parts) {
    if (part.text.empty()) continue;
    const TokenId token = allows.checked(vocabulary_.find(part.text));
    if (token != kNoToken) {
      tokens.push_back(token);
      continue;
    }
    for (const char c : part.text) {
      const TokenId byte = vocabulary_.byte(static_cast<std::uint8_t>(c));
      if (byte == kNoToken && unknown_ == kNoToken) {
        fail(ErrorKind::kFormat,
             "vocabulary: expected tokens of bytes or an unknown one, found "
             "neither");
      }
      tokens.push_back(byte == kNoToken ? unknown_ : byte);
      if (byte == kNoToken) break;  // one for the whole character
    }
  }
}

}  // namespace halftone::lm

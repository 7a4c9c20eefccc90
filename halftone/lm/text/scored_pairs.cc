// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/scored_pairs.h"

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
  bool is_fixed = false;  ///< a user-defined token, which is not merged
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
  Merging(const Vocabulary& vocabulary, std::string_view text) : vocabulary_(vocabulary) {
    for (std::size_t at = 0; at < text.size();) {
      const TokenId whole = vocabulary.special(text.substr(at), false);
      const std::size_t length =
          whole == kNoToken ? utf8_length(text.substr(at)) : vocabulary.token(whole).text.size();
      const std::size_t index = parts_.size();
      parts_.push_back(
          {text.substr(at, length), index == 0 ? kNone : index - 1, index + 1, whole != kNoToken});
      at += length;
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
    if (left.is_fixed || right.is_fixed) return;
    const std::size_t size = left.text.size() + right.text.size();
    const TokenId both = vocabulary_.find({left.text.data(), size});
    if (both != kNoToken) queue_.push({vocabulary_.token(both).score, index, size});
  }

  const Vocabulary& vocabulary_;
  std::vector<Part> parts_;
  std::priority_queue<Pair> queue_;
};

}  // namespace

void encode_by_scores(const Vocabulary& vocabulary, TokenId unknown, std::string_view text,
                      std::vector<TokenId>& tokens) {
  const std::vector<Part> parts = Merging(vocabulary, text).run();
  for (const Part& part : parts) {
    if (part.text.empty()) continue;
    const TokenId token = vocabulary.find(part.text);
    if (token != kNoToken) {
      tokens.push_back(token);
      continue;
    }
    for (const char c : part.text) {
      const TokenId byte = vocabulary.byte(static_cast<std::uint8_t>(c));
      if (byte == kNoToken && unknown == kNoToken) {
        fail(ErrorKind::kFormat,
             "vocabulary: expected tokens of bytes or an unknown one, found "
             "neither");
      }
      tokens.push_back(byte == kNoToken ? unknown : byte);
      if (byte == kNoToken) break;  // one for the whole character
    }
  }
}

}  // namespace halftone::lm

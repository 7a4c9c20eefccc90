// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/token_masks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace halftone::lm {

SortedTokens::SortedTokens(const Tokenizer& tokenizer, bool is_first,
                           std::span<const TokenId> shown)
    : size_(tokenizer.vocabulary().size()) {
  for (std::size_t i = 0; i < size_; ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = tokenizer.vocabulary().token(id).kind;
    const bool is_shown = std::ranges::find(shown, id) != shown.end();
    if ((kind == TokenKind::kControl && !is_shown) || kind == TokenKind::kUnknown ||
        kind == TokenKind::kUnused) {
      continue;
    }
    std::string bytes = is_first && !is_shown ? tokenizer.decode({&id, 1}) : tokenizer.text(id);
    if (!bytes.empty()) entries_.push_back({id, std::move(bytes), 0});
  }
  std::ranges::sort(entries_, {}, [](const Entry& each) { return std::tie(each.bytes, each.id); });
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const std::string& bytes = entries_[i].bytes;
    const auto differs = std::ranges::mismatch(bytes, entries_[i - 1].bytes).in1;
    entries_[i].same = static_cast<std::size_t>(differs - bytes.begin());
  }
  places_.assign(size_, entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    places_[static_cast<std::size_t>(entries_[i].id)] = i;
  }
}

std::string_view SortedTokens::text(TokenId id) const {
  const std::size_t place = places_.at(static_cast<std::size_t>(id));
  return place == entries_.size() ? std::string_view() : entries_[place].bytes;
}

TokenMask allowed_tokens(const SortedTokens& tokens, Acceptor& acceptor, Acceptor::State state) {
  acceptor.allow_work();
  TokenMask mask(tokens.size(), false);
  std::vector<Acceptor::State> path{state};  // behind each byte of the entry before
  for (const SortedTokens::Entry& each : tokens.entries()) {
    // Where the entry before failed within what both have, this one fails too.
    if (path.back() == Acceptor::kNowhere && each.same >= path.size() - 1) continue;
    path.resize(std::min(path.size(), each.same + 1));
    for (std::size_t i = path.size() - 1; i < each.bytes.size(); ++i) {
      path.push_back(acceptor.after(path.back(), static_cast<std::uint8_t>(each.bytes[i])));
      if (path.back() == Acceptor::kNowhere) break;
    }
    mask[static_cast<std::size_t>(each.id)] = path.back() != Acceptor::kNowhere;
  }
  return mask;
}

}  // namespace halftone::lm

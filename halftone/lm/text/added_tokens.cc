// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/added_tokens.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "halftone/lm/text/characters.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

bool is_utf8(std::string_view text) {
  std::size_t size = 0;
  for_each_character(text, [&](char32_t, std::string_view bytes) { size += bytes.size(); });
  return size == text.size();
}

/// The last character of a text that is not empty.
char32_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return utf8_code_point(text.substr(at));
}

std::size_t length_of_front_space(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::size_t next = utf8_length(text.substr(length));
    if (next == 0 || !is_white_space(utf8_code_point(text.substr(length, next)))) break;
    length += next;
  }
  return length;
}

/// Where the white space at the end of a text begins.
std::size_t begin_of_back_space(std::string_view text) {
  while (!text.empty() && is_white_space(last_character(text))) {
    text.remove_suffix(to_utf8(last_character(text)).size());
  }
  return text.size();
}

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_character(last_character(text.substr(0, begin)))) &&
         (end == text.size() || !is_word_character(utf8_code_point(text.substr(end))));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, Order order)
    : tokens_(std::move(tokens)), order_(order) {
  std::vector<TextIndex::Entry> entries;
  for (std::size_t i = tokens_.size(); i-- > 0;) {  // the first of those with one text counts
    if (is_utf8(tokens_[i].text)) entries.push_back({tokens_[i].text, static_cast<int>(i)});
  }
  index_ = TextIndex(std::move(entries));
}

std::vector<AddedTokens::Found> AddedTokens::find(std::string_view text,
                                                  const Condition& allows) const {
  if (empty()) return {};
  std::vector<Found> found =
      order_ == Order::kFirst ? first_ones(text, allows) : longest_ones(text, allows);
  std::size_t last = 0;
  for (Found& each : found) {
    if (order_ == Order::kLongest) break;  // has taken it
    if (each.token->strips_left) {
      each.begin = std::max(last, begin_of_back_space(text.substr(0, each.begin)));
    }
    if (each.token->strips_right) each.end += length_of_front_space(text.substr(each.end));
    last = each.end;
  }
  // Those that were white space which another one has taken.
  std::erase_if(found, [](const Found& each) { return each.begin >= each.end; });
  return found;
}

std::vector<AddedTokens::Found> AddedTokens::first_ones(std::string_view text,
                                                        const Condition& allows) const {
  std::vector<Found> found;
  for (std::size_t at = 0; at < text.size();) {
    std::optional<Found> longest;
    if (index_.has_first(text[at])) {
      index_.for_each_prefix(text.substr(at), [&](std::size_t length, std::int32_t index) {
        const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
        if (!allows || allows(token, at, at + length)) longest = {at, at + length, &token};
      });
    }
    if (!longest) {
      ++at;
      continue;
    }
    at = longest->end;
    // What is part of a word is not looked into again.
    if (!longest->token->is_single_word || is_single_word(text, longest->begin, longest->end)) {
      found.push_back(*longest);
    }
  }
  return found;
}

std::vector<AddedTokens::Found> AddedTokens::longest_ones(std::string_view text,
                                                          const Condition& allows) const {
  std::vector<Found> candidates;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!index_.has_first(text[at])) continue;
    index_.for_each_prefix(text.substr(at), [&](std::size_t length, std::int32_t index) {
      const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
      if (!allows || allows(token, at, at + length))
        candidates.push_back({at, at + length, &token});
    });
  }
  std::ranges::stable_sort(candidates, std::greater(),
                           [](const Found& each) { return each.end - each.begin; });
  std::vector<bool> is_taken(candidates.empty() ? 0 : text.size());
  std::vector<Found> found;
  for (const Found& each : candidates) {
    const auto begin = is_taken.begin() + static_cast<std::ptrdiff_t>(each.begin);
    const auto end = is_taken.begin() + static_cast<std::ptrdiff_t>(each.end);
    if (std::find(begin, end, true) != end) continue;
    Found taken = each;
    const auto is_free_space = [&](std::size_t at) {
      return !is_taken[at] && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'));
    };
    while (each.token->strips_left && taken.begin > 0 && is_free_space(taken.begin - 1)) {
      --taken.begin;
    }
    while (each.token->strips_right && taken.end < text.size() && is_free_space(taken.end)) {
      ++taken.end;
    }
    std::fill(is_taken.begin() + static_cast<std::ptrdiff_t>(taken.begin),
              is_taken.begin() + static_cast<std::ptrdiff_t>(taken.end), true);
    found.push_back(taken);
  }
  std::ranges::sort(found, {}, &Found::begin);
  return found;
}

}  // namespace halftone::lm

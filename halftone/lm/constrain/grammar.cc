// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/grammar.h"

#include <algorithm>
#include <iterator>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/rule_analysis.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

ByteSet bytes_from(std::uint8_t first, std::uint8_t last) {
  ByteSet set;
  for (std::size_t byte = first; byte <= last; ++byte) set.set(byte);
  return set;
}

/// Parts of a range whose characters have equally many bytes, of which all but some first ones take
/// all values: each is a byte range after another. Source: the ranges of RE2 (Cox 2010).
void split_range(CharacterRange range, std::vector<CharacterRange>& parts) {
  std::vector<CharacterRange> todo{range};
  const auto split_before = [&](char32_t second) {
    const CharacterRange whole = todo.back();
    if (whole.first >= second || whole.last < second) return false;
    todo.back() = {second, whole.last};
    todo.push_back({whole.first, second - 1});
    return true;
  };
  while (!todo.empty()) {
    bool is_split = false;
    for (const char32_t border : {0x80U, 0x800U, 0xD800U, 0xE000U, 0x10000U}) {
      is_split = is_split || split_before(border);
    }
    const auto [first, last] = todo.back();
    for (int i = 1; i < 4 && !is_split && last >= 0x80; ++i) {
      const char32_t low = (char32_t{1} << (6 * i)) - 1;
      if ((first | low) == (last | low)) continue;
      if ((first & low) != 0) is_split = split_before((first | low) + 1);
      if (!is_split && (last & low) != low) is_split = split_before(last & ~low);
    }
    if (is_split) continue;
    if (first < 0xD800 || first > 0xDFFF) parts.push_back(todo.back());
    todo.pop_back();
  }
}

}  // namespace

std::vector<CharacterRange> all_but(std::vector<CharacterRange> ranges) {
  std::ranges::sort(ranges, {}, &CharacterRange::first);
  std::vector<CharacterRange> rest;
  char32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first > next) rest.push_back({next, first - 1});
    next = std::max(next, static_cast<char32_t>(last + 1));
  }
  if (next <= kLastCharacter) rest.push_back({next, kLastCharacter});
  return rest;
}

Symbol Grammar::declare(std::string name) {
  rules_.push_back({std::move(name), {}});
  return {Symbol::Kind::kRule, static_cast<std::uint32_t>(rules_.size() - 1)};
}

void Grammar::define(Symbol rule, Choices choices) {
  for (const Sequence& each : choices) count(each.size() + 1);
  rules_.at(rule.index).choices = std::move(choices);
}

void Grammar::count(std::size_t symbols) {
  num_symbols_ += symbols;
  if (num_symbols_ <= kMaxSymbols) return;
  fail(ErrorKind::kUsage, "grammar: expected at most " + std::to_string(kMaxSymbols) +
                              " symbols, found more; repeat less often");
}

Symbol Grammar::rule_of(Choices choices) {
  if (choices.size() == 1 && choices[0].size() == 1) return choices[0][0];
  const Symbol rule = declare("");
  define(rule, std::move(choices));
  return rule;
}

Symbol Grammar::set_of(const ByteSet& set) {
  const auto found = std::ranges::find(sets_, set);
  const auto index = static_cast<std::uint32_t>(found - sets_.begin());
  if (found == sets_.end()) sets_.push_back(set);
  return {Symbol::Kind::kBytes, index};
}

Choices Grammar::byte(const ByteSet& set) { return {{set_of(set)}}; }

Sequence Grammar::bytes_between(std::string_view first, std::string_view last) {
  Sequence bytes;
  for (std::size_t i = 0; i < first.size(); ++i) {
    bytes.push_back(set_of(
        bytes_from(static_cast<std::uint8_t>(first[i]), static_cast<std::uint8_t>(last[i]))));
  }
  return bytes;
}

Choices Grammar::text(std::string_view bytes) { return {bytes_between(bytes, bytes)}; }

Choices Grammar::characters(std::vector<CharacterRange> ranges) {
  ranges = all_but(all_but(std::move(ranges)));  // sorted, without overlaps
  std::vector<CharacterRange> parts;
  for (const CharacterRange& each : ranges) split_range(each, parts);
  Choices choices;
  ByteSet ascii;
  for (const auto& [first, last] : parts) {
    if (last < 0x80) {
      ascii |= bytes_from(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last));
    } else {
      choices.push_back(bytes_between(to_utf8(first), to_utf8(last)));
    }
  }
  if (ascii.any()) choices.push_back({set_of(ascii)});
  return choices;
}

Choices Grammar::sequence(std::vector<Choices> parts) {
  Sequence all;
  for (Choices& part : parts) {
    if (part.size() == 1) {
      std::ranges::move(part[0], std::back_inserter(all));
    } else {
      all.push_back(rule_of(std::move(part)));
    }
  }
  return {std::move(all)};
}

Choices Grammar::either(std::vector<Choices> parts) {
  Choices all;
  for (Choices& part : parts) std::ranges::move(part, std::back_inserter(all));
  return all;
}

Choices Grammar::repeat(Choices what, std::size_t least, std::size_t most) {
  const Symbol once = rule_of(std::move(what));
  const std::size_t optional = most == kUnbounded ? 0 : most - least;
  count(least);
  count(2 * optional);  // before memory is taken
  Sequence all(least, once);
  if (most == kUnbounded) {
    const Symbol more = declare("");
    define(more, {{once, more}, {}});
    all.push_back(more);
  }
  Choices tail{{}};
  for (std::size_t i = 0; i < optional; ++i) {
    const bool is_last = i + 1 == optional;
    Choices next{{once}, {}};
    if (i > 0) next[0].push_back(rule_of(std::move(tail)));
    if (is_last && least == 0) return next;
    tail = std::move(next);
  }
  if (optional > 0) all.push_back(rule_of(std::move(tail)));
  return {std::move(all)};
}

void Grammar::set_root(Symbol rule) {
  root_ = rule;
  std::vector<bool> has_bytes;
  for (const ByteSet& set : sets_) has_bytes.push_back(set.any());
  const std::vector<bool> ends = rules_that_give(rules_, has_bytes);
  if (!ends[root_.index]) {
    fail(ErrorKind::kUsage,
         "form of the text (JSON schema, grammar, regular expression): expected one that texts can "
         "fit, found one that none fits, or whose texts all go on without end");
  }
  const auto can_end = [&](const Symbol& each) {
    return each.kind == Symbol::Kind::kRule ? ends[each.index] : has_bytes[each.index];
  };
  for (Rule& each : rules_) {
    std::erase_if(each.choices,
                  [&](const Sequence& all) { return !std::ranges::all_of(all, can_end); });
  }
  check_left_recursion(*this);
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/regular_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/lm/constrain/testing.h"

namespace halftone::lm {
namespace {

using Id = RegularSets::Id;

/// Texts of up to four characters, of which there are three: one is like all that no set names.
std::vector<std::string> short_texts() {
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; texts[i].size() < 8; ++i) {
    for (const char* sign : {"a", "b", "\xC3\xA9"}) texts.push_back(texts[i] + sign);
  }
  return texts;
}

/// A set, and whether a text is in it, each computed in its own way.
struct Case {
  Id set = 0;
  std::function<bool(std::string_view)> has;
};

/// Whether some parts of a text, one after another, are in the two sets.
bool divides(std::string_view text, const Case& first, const Case& second) {
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const bool is_within = at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80;
    if (!is_within && first.has(text.substr(0, at)) && second.has(text.substr(at))) return true;
  }
  return false;
}

Case random_case(RegularSets& sets, Random& random, std::size_t depth) {
  const auto draw = [&](std::size_t below) {
    return static_cast<std::size_t>(random.uniform() * static_cast<double>(below));
  };
  if (depth == 0 || draw(8) == 0) {
    const char sign = draw(2) == 0 ? 'a' : 'b';
    if (draw(4) == 0) return {sets.empty(), [](std::string_view text) { return text.empty(); }};
    return {sets.characters({{static_cast<char32_t>(sign), static_cast<char32_t>(sign)}}),
            [sign](std::string_view text) { return text == std::string(1, sign); }};
  }
  const Case a = random_case(sets, random, depth - 1);
  const Case b = random_case(sets, random, depth - 1);
  switch (draw(5)) {
    case 0:
      return {sets.either({a.set, b.set}),
              [=](std::string_view text) { return a.has(text) || b.has(text); }};
    case 1:
      return {sets.both({a.set, b.set}),
              [=](std::string_view text) { return a.has(text) && b.has(text); }};
    case 2:
      return {sets.all_but(a.set), [=](std::string_view text) { return !a.has(text); }};
    case 3:
      return {sets.sequence(a.set, b.set),
              [=](std::string_view text) { return divides(text, a, b); }};
    default: {
      const std::size_t least = draw(3);
      const std::size_t most = least + draw(3);
      std::vector<Case> times{{0, [](std::string_view text) { return text.empty(); }}};
      for (std::size_t i = 0; i < most; ++i) {
        const Case before = times.back();
        times.push_back({0, [=](std::string_view text) { return divides(text, a, before); }});
      }
      return {sets.repeat(a.set, least, most), [=](std::string_view text) {
                return std::any_of(times.begin() + static_cast<std::ptrdiff_t>(least), times.end(),
                                   [&](const Case& each) { return each.has(text); });
              }};
    }
  }
}

Grammar grammar_of(RegularSets& sets, Id set) {
  Grammar grammar;
  const Symbol root = grammar.declare("root");
  grammar.define(root, sets.choices(set, grammar, [&](CharacterRanges ranges) {
    return grammar.characters(std::move(ranges));
  }));
  grammar.set_root(root);
  return grammar;
}

TEST(RegularSets, HaveTheTextsThatTheirDefinitionsSay) {
  const std::vector<std::string> texts = short_texts();
  std::size_t num_in = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RegularSets sets;
    Random random(seed);
    const Case each = random_case(sets, random, 3);
    bool is_any = false;
    for (const std::string& text : texts) {
      const bool has = each.has(text);
      const auto length = static_cast<std::size_t>(std::ranges::count_if(
          text, [](char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; }));
      EXPECT_TRUE(!has || sets.shortest(each.set) <= length) << seed << text;
      EXPECT_TRUE(!has || sets.longest(each.set) >= length) << seed << text;
      EXPECT_EQ(sets.has(each.set, text), has) << seed << text;
      is_any = is_any || has;
      num_in += has ? 1 : 0;
    }
    const bool is_none = sets.is_none(each.set);
    EXPECT_FALSE(is_any && is_none) << seed;
    if (is_none) continue;
    const Grammar grammar = grammar_of(sets, each.set);
    for (const std::string& text : texts) {
      EXPECT_EQ(accepts(grammar, text), sets.has(each.set, text)) << seed << text;
    }
  }
  EXPECT_GT(num_in, 3000U);
}

TEST(RegularSets, AreTheSameIfMadeAlike) {
  RegularSets sets;
  const Id a = sets.text("a");
  const Id b = sets.text("b");
  EXPECT_EQ(sets.either({a, b, a}), sets.characters({{U'a', U'b'}}));
  EXPECT_EQ(sets.sequence(sets.sequence(a, b), a), sets.text("aba"));
  EXPECT_EQ(sets.both({a, sets.all()}), a);
  EXPECT_EQ(sets.all_but(sets.all_but(b)), b);
  EXPECT_EQ(sets.repeat(a, 1, 1), a);
  EXPECT_EQ(sets.repeat(sets.none(), 0, 3), sets.empty());
  EXPECT_TRUE(sets.is_none(sets.both({a, b})));
}

TEST(RegularSets, SayWhenTheyTakeTooMuch) {
  RegularSets sets;
  const Id either = sets.characters({{U'a', U'b'}});
  const Id many = sets.sequence(sets.repeat(either, 0, kUnbounded),
                                sets.sequence(sets.text("a"), sets.repeat(either, 40, 40)));
  EXPECT_FALSE(sets.has(many, "ab"));
  expect_error(ErrorKind::kUnsupported, "too many states", [&] {
    (void)sets.is_none(sets.both({many, sets.all_but(sets.text("b"))}));
  });
}

}  // namespace
}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/pattern.h"

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/testing.h"

namespace halftone::lm {
namespace {

Grammar grammar_where_found(std::string_view pattern) {
  Grammar grammar;
  RegularSets sets;
  const Symbol root = grammar.declare("root");
  grammar.define(root, sets.choices(pattern_set(sets, pattern), grammar, [&](auto ranges) {
    return grammar.characters(std::move(ranges));
  }));
  grammar.set_root(root);
  return grammar;
}

void expect_pattern(const char* pattern, const std::vector<std::string>& in,
                    const std::vector<std::string>& out) {
  expect_texts(grammar_where_found(pattern), pattern, in, out);
}

TEST(Pattern, IsFoundAnywhereUnlessItsEndsSayOtherwise) {
  expect_pattern("b", {"b", "abc"}, {"", "ac"});
  expect_pattern("^b", {"b", "bc"}, {"ab"});
  expect_pattern("b$", {"b", "ab"}, {"bc"});
  expect_pattern("^a$|c", {"a", "bcd"}, {"ab"});
}

TEST(Pattern, HasClassesGroupsAndCounts) {
  expect_pattern(R"(^\d{3}-[A-Z_]{2,}$)", {"123-AB", "000-A_B"}, {"12-AB", "123-A", "123-Ab"});
  expect_pattern(R"(^(?:ab|c)+(?<name>x)?d*?$)", {"ab", "cabxdd"}, {"", "x"});
  expect_pattern(R"(^[^a-c\d]$)", {"d", "-"}, {"a", "5", "\xC3\xA9"});
  expect_pattern(R"(^[^a-c]$)", {"\xC3\xA9", "5"}, {"b", "dd"});
  expect_pattern(R"(^\w\s\W\S\D$)", {"a .bc"}, {"a..bc", "a .b1"});
  expect_pattern(R"(^[\]\-a^]$)", {"]", "-", "a", "^"}, {"b"});
  expect_pattern(R"(^\u00e9\x41\n\.$)",
                 {"\xC3\xA9"
                  "A\n."},
                 {"eA\n."});
  expect_pattern("^.$", {"x", "\xE2\x82\xAC"}, {"\n", ""});
  expect_pattern("^$", {""}, {"a"});
  expect_pattern("^a{2}$", {"aa"}, {"a", "aaa"});
}

TEST(Pattern, DescribesWholeTexts) {
  expect_texts(grammar_of_pattern("a|b+"), "a|b+", {"a", "bb"}, {"ab", "", "xa"});
  expect_texts(grammar_of_pattern("^a$"), "^a$", {"a"}, {"", "aa"});
  expect_error(ErrorKind::kFormat, "pattern 'a)', at 1: expected the end",
               [] { (void)grammar_of_pattern("a)"); });
}

TEST(Pattern, LooksAhead) {
  expect_pattern("^(?=.*b)[a-c]{2}$", {"ab", "bc"}, {"ac", "b", "abc"});
  expect_pattern("^(?!foo|bar$)[a-z]+$", {"fo", "bars", "x"}, {"foo", "food", "bar"});
  expect_pattern("a(?=b)", {"ab", "cabd"}, {"a", "ac"});
  expect_pattern("^(?:a(?!b))?.$", {"ac", "b"}, {"ab"});
  expect_pattern(R"(^P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?)?$)", {"P1D", "PT5M", "P2DT3H4M"},
                 {"P", "PT", "P1", "P1DT"});
  expect_pattern(R"(^(?!\.)(?!.*\.\.)([a-z.]*)[a-z]@([a-z]+\.)+[a-z]{2,}$)",
                 {"a@b.cc", "a.b@c.d.ee"}, {".a@b.cc", "a..b@c.dd", "a.@b.cc", "a@b.c"});
  expect_pattern("^(?=.{3,5}$)a*b*$", {"aab", "bbbbb"}, {"ab", "aaabbb", "aba"});
}

TEST(Pattern, HasEndsWithinGroups) {
  expect_pattern("(^a$)|(^b$)", {"a", "b"}, {"ab", ""});
  expect_pattern(R"(^(\d+|$))", {"", "1x"}, {"x"});
  expect_pattern("^$|^(?:[a-z]{2}$|x)", {"", "ab", "xyz"}, {"a", "abc"});
}

TEST(Pattern, NamesWhatItDoesNotFollow) {
  const auto check = [](const char* pattern, ErrorKind kind, const char* message) {
    expect_error(kind, message, [&] { (void)grammar_where_found(pattern); });
  };
  check("(?<!a)b", ErrorKind::kUnsupported, "at 2: look-behind is not supported");
  check("(?i)b", ErrorKind::kUnsupported, "a group with flags");
  check("(?:(?!a).)*", ErrorKind::kUnsupported, "in what is repeated more than 100 times");
  check("(?:(?:(?:(?:(?=a)a){99}){99}){99}){99}", ErrorKind::kUnsupported, "repeated as often");
  check("a?^b", ErrorKind::kUnsupported, "'^' behind what may be empty");
  check(R"((a)\1)", ErrorKind::kUnsupported, "a reference to a group");
  check(R"(\bword)", ErrorKind::kUnsupported, "a border of a word");
  check(R"(\p{L})", ErrorKind::kUnsupported, "a class of Unicode");
  check("a^b", ErrorKind::kUsage, "expected one that texts can fit");
  check("(a$)b", ErrorKind::kUsage, "expected one that texts can fit");
  check("a**", ErrorKind::kFormat, "expected something to repeat");
  check(R"(\q)", ErrorKind::kUnsupported, "\\q");
  check("(a", ErrorKind::kFormat, "expected ')'");
  check("a)", ErrorKind::kFormat, "expected the end");
  check("[a", ErrorKind::kFormat, "expected a character, found the end");
  check("[b-a]", ErrorKind::kFormat, "expected a range in order");
  check("a{2,1}", ErrorKind::kFormat, "expected bounds in order");
  check("a{2", ErrorKind::kFormat, "expected '}'");
  check("a{x}", ErrorKind::kFormat, "expected a number of at most 100000");
  check("*", ErrorKind::kFormat, "expected something to repeat");
  check("\\", ErrorKind::kFormat, "expected a character, found the end");
  check(R"(\xg0)", ErrorKind::kFormat, "expected 2 hexadecimal digits");
  check(std::string(200, '(').c_str(), ErrorKind::kUnsupported, "100 groups");
}

}  // namespace
}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/pattern.h"

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/testing.h"

namespace halftone::lm {
namespace {

Grammar grammar_of_pattern(std::string_view pattern) {
  Grammar grammar;
  const Symbol root = grammar.declare("root");
  grammar.define(root, pattern_choices(grammar, pattern, [&](std::vector<CharacterRange> ranges) {
                   return grammar.characters(std::move(ranges));
                 }));
  grammar.set_root(root);
  return grammar;
}

void expect_pattern(const char* pattern, const std::vector<std::string>& in,
                    const std::vector<std::string>& out) {
  expect_texts(grammar_of_pattern(pattern), pattern, in, out);
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

TEST(Pattern, NamesWhatItDoesNotFollow) {
  const auto check = [](const char* pattern, ErrorKind kind, const char* message) {
    expect_error(kind, message, [&] { (void)grammar_of_pattern(pattern); });
  };
  expect_error(ErrorKind::kUnsupported, "a length, which more than one repeated part", [] {
    Grammar grammar;
    (void)pattern_choices(
        grammar, "^a*b*$",
        [&](std::vector<CharacterRange> ranges) { return grammar.characters(std::move(ranges)); },
        {0, 3});
  });
  check("(?=a)", ErrorKind::kUnsupported, "at 2: look-around is not supported");
  check("(?<!a)b", ErrorKind::kUnsupported, "look-around");
  check(R"((a)\1)", ErrorKind::kUnsupported, "a reference to a group");
  check(R"(\bword)", ErrorKind::kUnsupported, "a border of a word");
  check(R"(\p{L})", ErrorKind::kUnsupported, "a class of Unicode");
  check("a^b", ErrorKind::kUnsupported, "'^' that is not in front");
  check("(a$)b", ErrorKind::kUnsupported, "'$' that is not at the end");
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

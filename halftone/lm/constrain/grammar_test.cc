// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/grammar.h"

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/grammar_text.h"
#include "halftone/lm/constrain/testing.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using testing::HasSubstr;

Grammar with_root(Grammar& grammar, Choices choices) {
  const Symbol root = grammar.declare("root");
  grammar.define(root, std::move(choices));
  grammar.set_root(root);
  return grammar;
}

TEST(Grammar, ReadsTheExampleOfItsHeader) {
  const Grammar grammar = parse_grammar(
      "root   ::= answer (\",\" \" \"? answer){0,3}   # any number of rules\n"
      "answer ::= \"yes\" | \"no\" | [a-c]+ | [^\"\\x00-\\x1Fa-z,]\n");
  for (const char* text : {"yes", "no,yes", "no, no, no, abcabc", "\xE2\x82\xAC,no", "a"}) {
    EXPECT_TRUE(accepts(grammar, text)) << text;
  }
  for (const char* text : {"", "ye", "yes,", "no,no,no,no,no", "d", "\"", "\xE2\x82"}) {
    EXPECT_FALSE(accepts(grammar, text)) << text;
  }
}

TEST(Grammar, CountsBracketsThatNoStateMachineCounts) {
  const Grammar grammar = parse_grammar("root ::= \"(\" root \")\" | \"[\" root \"]\" |\n");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 3 == 0 ? '[' : '(';
  const std::string front = text;
  for (int i = 999; i >= 0; --i) text += i % 3 == 0 ? ']' : ')';
  EXPECT_TRUE(accepts(grammar, text));
  EXPECT_FALSE(accepts(grammar, front));
  text[1500] = text[1500] == ')' ? ']' : ')';
  EXPECT_FALSE(accepts(grammar, text));
}

TEST(Grammar, SplitsCharactersIntoBytesAsTheyAreWritten) {
  const std::vector<CharacterRange> ranges{
      {0x41, 0x41}, {0x7F, 0x900}, {0xD000, 0xE123}, {0xFFFE, 0x10FFFF}};
  Grammar grammar;
  const Grammar whole = with_root(grammar, grammar.characters(ranges));
  Acceptor acceptor(std::make_shared<Grammar>(whole));
  for (char32_t each = 0; each <= kLastCharacter; each += each < 0x3000 ? 1 : 61) {
    if (each >= 0xD800 && each <= 0xDFFF) continue;
    Acceptor::State state = acceptor.start();
    for (const char byte : to_utf8(each)) {
      state = acceptor.after(state, static_cast<std::uint8_t>(byte));
    }
    const bool is_inside = std::ranges::any_of(
        ranges, [&](auto& range) { return range.first <= each && each <= range.last; });
    EXPECT_EQ(acceptor.may_end(state), is_inside) << static_cast<std::uint32_t>(each);
  }
  EXPECT_FALSE(accepts(whole, "\xED\xA0\x80")) << "a surrogate";
  EXPECT_FALSE(accepts(whole, "\xC1\x81")) << "longer than needed";
}

TEST(Grammar, HasEveryCharacterButThoseOfRanges) {
  const auto rest = all_but({{5, 9}, {0, 2}, {8, 20}});
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].first, 3U);
  EXPECT_EQ(rest[0].last, 4U);
  EXPECT_EQ(rest[1].first, 21U);
  EXPECT_EQ(rest[1].last, kLastCharacter);
  EXPECT_TRUE(all_but({{0, kLastCharacter}}).empty());
}

TEST(Grammar, TakesRulesThatEndWithThemselvesAndEmptyOnes) {
  const Grammar grammar = parse_grammar(
      "root ::= (a*)* b?\n"
      "a ::= \"x\"*\n"
      "b ::= \"y\" b\n | \"z\"");
  for (const char* text : {"", "xxx", "z", "xyyz"}) EXPECT_TRUE(accepts(grammar, text)) << text;
  EXPECT_FALSE(accepts(grammar, "xy"));
}

TEST(Grammar, NamesRulesThatBeginWithThemselves) {
  expect_error(ErrorKind::kUsage, "begins with itself; let it end with itself instead",
               [&] { (void)parse_grammar("root ::= a\na ::= b \"x\" | \"y\"\nb ::= \"q\"? a"); });
}

TEST(Grammar, RefusesWhatNoTextFits) {
  expect_error(ErrorKind::kUsage, "expected one that texts can fit",
               [&] { (void)parse_grammar("root ::= \"x\" root"); });
  expect_error(ErrorKind::kUsage, "expected one that texts can fit",
               [&] { (void)parse_grammar("root ::= []"); });
}

TEST(Grammar, DropsWhatCannotEnd) {
  const Grammar grammar =
      parse_grammar("root ::= \"a\" | \"b\" endless\nendless ::= \"b\" endless");
  EXPECT_TRUE(accepts(grammar, "a"));
  Acceptor acceptor(std::make_shared<Grammar>(grammar));
  EXPECT_EQ(acceptor.after(acceptor.start(), 'b'), Acceptor::kNowhere);
}

TEST(Grammar, NamesTheLineOfMistakes) {
  const auto check = [](const char* text, const char* message) {
    expect_error(ErrorKind::kFormat, message, [&] { (void)parse_grammar(text); });
  };
  check("", "expected a rule 'root ::= ...', found none");
  check("root ::= a", "expected a rule 'a ::= ...', found none");
  check("root ::= \"a\"\n\nroot ::= \"b\"", "line 3: expected one rule 'root'");
  check("root = \"a\"", "line 1: expected '::=', found '='");
  check("root ::= \"a", "line 1: expected a character, found the end");
  check("root ::= (\"a\"", "expected ')', found the end");
  check("root ::= \"a\"{3,2}", "expected '}' behind bounds in order");
  check("root ::= \"a\"{x}", "expected a number of at most 100000, found 'x'");
  check("root ::= [z-a]", "expected a range in order");
  check("root ::= \"\\q\"", "behind '\\', found 'q'");
  check("root ::= \"\\uD800\"", "expected 4 hexadecimal digits of a character");
  check("root ::= \"a\" )", "expected the end of the line, found ')'");
  check("root ::= *", "expected the name of a rule, found '*'");
  check("root ::= \"\xFF\"", "expected UTF-8");
  check(("root ::= " + std::string(200, '(')).c_str(), "at most 100 parentheses");
}

TEST(Grammar, BoundsItsSize) {
  EXPECT_NO_THROW(parse_grammar("root ::= a{100000}{100000}\na ::= \"x\" | \"y\""));
  std::string many;
  for (int i = 0; i < 11; ++i) many += "a{0,99999} ";
  expect_error(ErrorKind::kUsage, "expected at most 1048576 symbols",
               [&] { (void)parse_grammar("root ::= " + many + "\na ::= \"x\" | \"y\""); });
}

TEST(Acceptor, BoundsAmbiguity) {
  // Each place of many can be the one that is read.
  std::string text = "root ::= ";
  for (int i = 0; i < 20'000; ++i) text += "\"ab\" | ";
  expect_error(ErrorKind::kUsage, "expected at most 10000 ways to read a text",
               [&] { Acceptor{std::make_shared<Grammar>(parse_grammar(text + "\"c\""))}; });
}

TEST(Acceptor, BoundsTheWorkOfAToken) {
  // Each byte is read in hundreds of ways, of which all go on.
  std::string text = "root ::= ";
  for (int i = 0; i < 900; ++i) text += ".{" + std::to_string(i) + "} [a-z]* | ";
  Acceptor acceptor(std::make_shared<Grammar>(parse_grammar(text + "\"c\"")));
  expect_error(ErrorKind::kUsage, "make it less ambiguous", [&] {
    Acceptor::State state = acceptor.start();
    for (int i = 0; i < 100; ++i) {
      for (std::uint8_t byte = ' '; byte <= '~'; ++byte) (void)acceptor.after(state, byte);
      state = acceptor.after(state, 'a');
    }
  });
  Acceptor other(std::make_shared<Grammar>(parse_grammar(text + "\"c\"")));
  Acceptor::State state = other.start();
  for (int i = 0; i < 100; ++i) {
    other.allow_work();
    state = other.after(state, 'a');
  }
  EXPECT_TRUE(other.may_end(state));
}

TEST(Acceptor, GoesOnWhereItForgetsAllElse) {
  const Grammar grammar = parse_grammar("root ::= \"(\" root \")\" | \"\"");
  Acceptor acceptor(std::make_shared<Grammar>(grammar));
  Acceptor::State state = acceptor.start();
  for (int i = 0; i < 50; ++i) state = acceptor.after(state, '(');
  for (int i = 0; i < 20; ++i) state = acceptor.after(state, ')');
  state = acceptor.forget_but(state);
  for (int i = 0; i < 29; ++i) state = acceptor.after(state, ')');
  EXPECT_FALSE(acceptor.may_end(state));
  state = acceptor.after(acceptor.forget_but(state), ')');
  EXPECT_TRUE(acceptor.must_end(state));
  EXPECT_EQ(acceptor.after(state, ')'), Acceptor::kNowhere);
}

}  // namespace
}  // namespace halftone::lm

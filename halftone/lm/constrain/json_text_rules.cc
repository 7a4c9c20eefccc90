// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/json_text_rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace halftone::lm {
namespace {

/// Signs that JSON writes in two characters: RFC 8259, section 7, without the slash.
constexpr std::array<std::pair<char32_t, char>, 7> kEscapes{{{U'"', '"'},
                                                             {U'\\', '\\'},
                                                             {U'\b', 'b'},
                                                             {U'\f', 'f'},
                                                             {U'\n', 'n'},
                                                             {U'\r', 'r'},
                                                             {U'\t', 't'}}};

/// The two signs or more that a string writes for a character it may not contain; else empty.
std::string escape_of(char32_t character) {
  for (const auto& [each, letter] : kEscapes) {
    if (each == character) return std::string("\\") + letter;
  }
  if (character >= 0x20) return "";
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("\\u00") + kDigits[character >> 4] + kDigits[character & 15];
}

ByteSet digits_from(char first) {
  ByteSet set;
  for (char digit = first; digit <= '9'; ++digit) set.set(static_cast<std::uint8_t>(digit));
  return set;
}

}  // namespace

JsonRules::JsonRules(Grammar& grammar)
    : grammar_(grammar),
      value_(grammar.declare("value")),
      object_(grammar.declare("object")),
      array_(grammar.declare("array")),
      string_(grammar.declare("string")),
      number_(grammar.declare("number")),
      integer_(grammar.declare("integer")),
      space_(grammar.declare("space")) {
  constexpr std::size_t kMaxIndent = 20;
  const Choices indent = grammar_.characters({{U' ', U' '}, {U'\t', U'\t'}});
  grammar_.define(space_,
                  Grammar::either({Choices{{}}, grammar_.text(" "),
                                   grammar_.sequence({grammar_.text("\n"),
                                                      grammar_.repeat(indent, 0, kMaxIndent)})}));
  grammar_.define(string_,
                  quoted(grammar_.repeat(characters({{0, kLastCharacter}}), 0, kUnbounded)));
  define_numbers();
  define_containers();
}

void JsonRules::define_numbers() {
  constexpr std::size_t kMaxDigits = 16;
  const Choices digit = grammar_.byte(digits_from('0'));
  const Choices whole = Grammar::either(
      {grammar_.text("0"), grammar_.sequence({grammar_.byte(digits_from('1')),
                                              grammar_.repeat(digit, 0, kMaxDigits - 1)})});
  const Choices minus = grammar_.optional(grammar_.text("-"));
  const Choices fraction = grammar_.optional(
      grammar_.sequence({grammar_.text("."), grammar_.repeat(digit, 1, kMaxDigits)}));
  const Choices exponent = grammar_.optional(
      grammar_.sequence({grammar_.characters({{U'e', U'e'}, {U'E', U'E'}}),
                         grammar_.optional(grammar_.characters({{U'+', U'+'}, {U'-', U'-'}})),
                         grammar_.repeat(digit, 1, 2)}));
  grammar_.define(integer_, grammar_.sequence({minus, whole}));
  grammar_.define(number_, grammar_.sequence({minus, whole, fraction, exponent}));
}

void JsonRules::define_containers() {
  const auto list_of = [&](const Choices& what) {
    const Choices more = grammar_.repeat(grammar_.sequence({sign(","), what}), 0, kUnbounded);
    return grammar_.optional(grammar_.sequence({what, more}));
  };
  grammar_.define(object_, grammar_.sequence({sign("{"), list_of(member(string(), value())),
                                              grammar_.text("}")}));
  grammar_.define(array_,
                  grammar_.sequence({sign("["), list_of(spaced(value())), grammar_.text("]")}));
  grammar_.define(value_,
                  Grammar::either({object(), array(), string(), number(), grammar_.text("true"),
                                   grammar_.text("false"), grammar_.text("null")}));
}

Choices JsonRules::characters(std::vector<CharacterRange> ranges) const {
  std::vector<CharacterRange> without = all_but(std::move(ranges));
  const std::vector<CharacterRange> wanted = all_but(without);
  Choices escaped;
  for (char32_t character = 0; character <= U'\\'; ++character) {
    const std::string text = escape_of(character);
    if (text.empty()) continue;
    without.push_back({character, character});
    const bool is_wanted = std::ranges::any_of(wanted, [&](const CharacterRange& each) {
      return each.first <= character && character <= each.last;
    });
    if (is_wanted) escaped.push_back(grammar_.text(text)[0]);
  }
  return Grammar::either({grammar_.characters(all_but(without)), escaped});
}

Choices JsonRules::quoted(Choices content) const {
  return grammar_.sequence({grammar_.text("\""), std::move(content), grammar_.text("\"")});
}

Choices JsonRules::member(Choices key, Choices value) const {
  return grammar_.sequence({std::move(key), sign(":"), spaced(std::move(value))});
}

Choices JsonRules::sign(std::string_view text) const {
  return grammar_.sequence({grammar_.text(text), space()});
}

Choices JsonRules::spaced(Choices value) const {
  return grammar_.sequence({std::move(value), space()});
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/pattern.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using Ranges = std::vector<CharacterRange>;

constexpr char32_t kLastAscii = 0x7F;

/// The ranges of \d, \w and \s.
Ranges named_class(char letter) {
  switch (letter) {
    case 'd':
      return {{U'0', U'9'}};
    case 'w':
      return {{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}};
    default:
      return {{U'\t', U'\r'}, {U' ', U' '}};
  }
}

Ranges within_ascii(Ranges ranges) {
  std::erase_if(ranges, [](const CharacterRange& each) { return each.first > kLastAscii; });
  for (CharacterRange& each : ranges) each.last = std::min(each.last, kLastAscii);
  return ranges;
}

class PatternReader {
 public:
  PatternReader(Grammar& grammar, std::string_view pattern, const CharacterChoices& characters)
      : grammar_(grammar), pattern_(pattern), characters_(characters) {}

  Choices operator()(const LengthBounds& lengths) {
    std::vector<Choices> all;
    do {
      std::vector<Part> parts;
      const Part any{{characters_({{0, kLastCharacter}}), 1, 1}, 0, kUnbounded};
      if (!takes('^')) parts.push_back(any);
      for (Part& each : sequence()) parts.push_back(std::move(each));
      if (!takes('$')) parts.push_back(any);
      if (narrow(parts, lengths)) all.push_back(joined(std::move(parts)).choices);
    } while (takes('|'));
    if (!is_end()) fail_at("expected the end", ErrorKind::kFormat);
    return Grammar::either(std::move(all));
  }

 private:
  /// Texts with their lengths.
  struct Piece {
    Choices choices;
    std::size_t least = 0;
    std::size_t most = 0;
  };
  /// A piece that is repeated.
  struct Part {
    Piece piece;
    std::size_t least = 1;
    std::size_t most = 1;
  };

  static std::size_t sum(std::size_t a, std::size_t b) {
    return a == kUnbounded || b > kUnbounded - a ? kUnbounded : a + b;
  }
  static std::size_t product(std::size_t a, std::size_t b) {
    return a != 0 && b > kUnbounded / a ? kUnbounded : a * b;
  }
  Piece repetition(Part part) {
    return {grammar_.repeat(std::move(part.piece.choices), part.least, part.most),
            product(part.piece.least, part.least), product(part.piece.most, part.most)};
  }
  Piece joined(std::vector<Part> parts) {
    Piece all;
    std::vector<Choices> choices;
    for (Part& each : parts) {
      Piece piece =
          each.least == 1 && each.most == 1 ? std::move(each.piece) : repetition(std::move(each));
      choices.push_back(std::move(piece.choices));
      all.least = sum(all.least, piece.least);
      all.most = sum(all.most, piece.most);
    }
    all.choices = grammar_.sequence(std::move(choices));
    return all;
  }
  /// Has parts follow lengths by the one repeated character whose number is free.
  /// @return  whether there are such texts
  bool narrow(std::vector<Part>& parts, const LengthBounds& lengths) const {
    std::size_t least = 0;
    std::size_t most = 0;
    Part* free = nullptr;
    bool is_one = true;
    for (Part& each : parts) {
      const std::size_t longest = product(each.piece.most, each.most);
      if (product(each.piece.least, each.least) != longest) {
        is_one = is_one && free == nullptr && each.piece.least == 1 && each.piece.most == 1;
        free = &each;
      }
      least = sum(least, product(each.piece.least, each.least));
      most = sum(most, longest);
    }
    if (least >= lengths.least && most <= lengths.most) return true;
    if (most < lengths.least || least > lengths.most) return false;
    if (free == nullptr || !is_one) {
      unsupported("a length, which more than one repeated part would have to follow,");
    }
    const std::size_t others = least - free->least;
    free->least = std::max(free->least, lengths.least - std::min(lengths.least, others));
    if (lengths.most != kUnbounded) free->most = std::min(free->most, lengths.most - others);
    return free->least <= free->most;
  }

  [[nodiscard]] bool is_end() const { return at_ == pattern_.size(); }
  [[nodiscard]] bool sees(char sign) const { return !is_end() && pattern_[at_] == sign; }
  bool takes(char sign) {
    if (!sees(sign)) return false;
    ++at_;
    return true;
  }
  bool takes(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  [[noreturn]] void fail_at(const std::string& what, ErrorKind kind) const {
    fail(kind, "pattern '" + std::string(pattern_) + "', at " + std::to_string(at_) + ": " + what);
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    fail_at(what + " is not supported in what a model is to write", ErrorKind::kUnsupported);
  }

  Piece either() {
    std::vector<Choices> all;
    Piece any{{}, kUnbounded, 0};
    do {
      Piece piece = joined(sequence());
      all.push_back(std::move(piece.choices));
      any.least = std::min(any.least, piece.least);
      any.most = std::max(any.most, piece.most);
    } while (takes('|'));
    any.choices = Grammar::either(std::move(all));
    return any;
  }
  std::vector<Part> sequence() {
    std::vector<Part> parts;
    while (!is_end() && !sees('|') && !sees(')') && !sees('$')) parts.push_back(repeated());
    return parts;
  }
  Part repeated() {
    Part part{atom()};
    bool is_repeated = false;
    while (const auto bounds = repeat_bounds()) {
      (void)takes('?');  // which text is found first does not matter here
      if (std::exchange(is_repeated, true)) part = {repetition(std::move(part))};
      std::tie(part.least, part.most) = *bounds;
    }
    return part;
  }
  std::optional<std::pair<std::size_t, std::size_t>> repeat_bounds() {
    if (takes('*')) return {{0, kUnbounded}};
    if (takes('+')) return {{1, kUnbounded}};
    if (takes('?')) return {{0, 1}};
    if (!takes('{')) return std::nullopt;
    const std::size_t least = count();
    std::size_t most = least;
    if (takes(',')) most = sees('}') ? kUnbounded : count();
    if (!takes('}')) fail_at("expected '}'", ErrorKind::kFormat);
    if (most < least) fail_at("expected bounds in order", ErrorKind::kFormat);
    return {{least, most}};
  }
  std::size_t count() {
    std::size_t number = 0;
    const char* first = pattern_.data() + at_;
    const auto [end, error] = std::from_chars(first, pattern_.data() + pattern_.size(), number);
    if (error != std::errc{} || number > Grammar::kMaxRepeat) {
      fail_at("expected a number of at most " + std::to_string(Grammar::kMaxRepeat),
              ErrorKind::kFormat);
    }
    at_ += static_cast<std::size_t>(end - first);
    return number;
  }

  Piece atom() {
    if (takes('(')) return group();
    return {characters_(character_class()), 1, 1};
  }
  Ranges character_class() {
    if (takes('[')) return bracket_class();
    if (takes('.')) return all_but({{U'\n', U'\n'}, {U'\r', U'\r'}, {0x2028, 0x2029}});
    if (takes('\\')) return escape();
    if (sees('^')) unsupported("'^' that is not in front");
    if (sees('*') || sees('+') || sees('?') || sees('{')) {
      fail_at("expected something to repeat", ErrorKind::kFormat);
    }
    const char32_t character = next_character();
    return {{character, character}};
  }
  Piece group() {
    if (takes("?")) {
      const bool is_plain = takes(":") || takes("P<") || (takes("<") && !sees('=') && !sees('!'));
      if (!is_plain) unsupported("look-around");
      if (pattern_[at_ - 1] == '<') {
        at_ = std::min(pattern_.find('>', at_), pattern_.size() - 1) + 1;
      }
    }
    if (++depth_ > Grammar::kMaxDepth) unsupported("nesting of more than 100 groups");
    Piece inside = either();
    --depth_;
    if (sees('$')) unsupported("'$' that is not at the end");
    if (!takes(')')) fail_at("expected ')'", ErrorKind::kFormat);
    return inside;
  }
  char32_t next_character() {
    if (is_end()) fail_at("expected a character, found the end", ErrorKind::kFormat);
    const std::string_view rest = pattern_.substr(at_);
    at_ += utf8_length(rest);
    return utf8_code_point(rest);
  }
  Ranges bracket_class() {
    const bool is_negated = takes('^');
    bool is_ascii = false;
    Ranges ranges;
    while (!sees(']')) {
      const Ranges low = class_item(is_ascii);
      const bool is_range = low.size() == 1 && low[0].first == low[0].last && sees('-') &&
                            at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        ranges.insert(ranges.end(), low.begin(), low.end());
        continue;
      }
      ++at_;
      const Ranges high = class_item(is_ascii);
      if (high.size() != 1 || high[0].first < low[0].first || high[0].first != high[0].last) {
        fail_at("expected a range in order", ErrorKind::kFormat);
      }
      ranges.push_back({low[0].first, high[0].first});
    }
    ++at_;
    if (is_negated) ranges = all_but(std::move(ranges));
    return is_negated && is_ascii ? within_ascii(ranges) : ranges;
  }
  /// @param is_ascii  set if the item is a class that flavours understand differently
  Ranges class_item(bool& is_ascii) {
    if (!takes('\\')) {
      const char32_t character = next_character();
      return {{character, character}};
    }
    is_ascii = is_ascii || (!is_end() && std::string_view("dwsDWS").find(pattern_[at_]) !=
                                             std::string_view::npos);
    if (takes('b')) return {{U'\b', U'\b'}};
    return escape();
  }
  Ranges escape() {
    if (is_end()) fail_at("expected a character, found the end", ErrorKind::kFormat);
    const char letter = pattern_[at_];
    if (std::string_view("dws").find(letter) != std::string_view::npos) {
      ++at_;
      return named_class(letter);
    }
    if (std::string_view("DWS").find(letter) != std::string_view::npos) {
      ++at_;
      return within_ascii(all_but(named_class(static_cast<char>(letter - 'A' + 'a'))));
    }
    if (letter == 'b' || letter == 'B') unsupported("a border of a word");
    if (letter == 'p' || letter == 'P') unsupported("a class of Unicode");
    if (letter == 'k' || (letter >= '1' && letter <= '9')) unsupported("a reference to a group");
    const char32_t character = escaped_character();
    return {{character, character}};
  }
  char32_t escaped_character() {
    constexpr std::array<std::pair<char, char32_t>, 6> kControls{
        {{'n', U'\n'}, {'r', U'\r'}, {'t', U'\t'}, {'f', U'\f'}, {'v', U'\v'}, {'0', 0}}};
    for (const auto& [letter, character] : kControls) {
      if (takes(letter)) return character;
    }
    if (takes('x')) return hexadecimal(2);
    if (takes('u')) return hexadecimal(4);
    const char letter = pattern_[at_];
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) {
      unsupported(std::string("\\") + letter);
    }
    return next_character();
  }
  char32_t hexadecimal(std::size_t digits) {
    std::uint32_t number = 0;
    const std::string_view text = pattern_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    const bool is_surrogate = number >= 0xD800 && number <= 0xDFFF;
    if (error != std::errc{} || end != text.data() + digits || is_surrogate) {
      fail_at("expected " + std::to_string(digits) + " hexadecimal digits of a character",
              ErrorKind::kFormat);
    }
    at_ += digits;
    return static_cast<char32_t>(number);
  }

  Grammar& grammar_;
  std::string_view pattern_;
  const CharacterChoices& characters_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Choices pattern_choices(Grammar& grammar, std::string_view pattern,
                        const CharacterChoices& characters, const LengthBounds& lengths) {
  check_utf8(pattern);
  return PatternReader(grammar, pattern, characters)(lengths);
}

}  // namespace halftone::lm

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

constexpr char32_t kLastAscii = 0x7F;

/// The ranges of \d, \w and \s.
CharacterRanges named_class(char letter) {
  switch (letter) {
    case 'd':
      return {{U'0', U'9'}};
    case 'w':
      return {{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}};
    default:
      return {{U'\t', U'\r'}, {U' ', U' '}};
  }
}

CharacterRanges within_ascii(CharacterRanges ranges) {
  std::erase_if(ranges, [](const CharacterRange& each) { return each.first > kLastAscii; });
  for (CharacterRange& each : ranges) each.last = std::min(each.last, kLastAscii);
  return ranges;
}

/// What a pattern says.
struct Expression {
  enum class Kind : std::uint8_t {
    kCharacters,
    kSequence,
    kEither,
    kRepeat,
    kStart,  ///< "^"
    kEnd,    ///< "$"
    kAhead   ///< look-ahead
  };
  Kind kind = Kind::kCharacters;
  std::vector<Expression> parts{};
  CharacterRanges ranges{};
  std::size_t least = 0;  ///< repetitions
  std::size_t most = 0;
  bool is_negated = false;    ///< look-ahead for what must not follow
  bool looks_around = false;  ///< what it takes depends on what is around it
  bool may_be_empty = false;
};

bool is_zero_width(const Expression& each) {
  return each.kind == Expression::Kind::kStart || each.kind == Expression::Kind::kEnd ||
         each.kind == Expression::Kind::kAhead;
}

/// @param kind  kSequence or kEither
Expression joined(Expression::Kind kind, std::vector<Expression> parts) {
  const bool looks = std::ranges::any_of(parts, &Expression::looks_around);
  const bool may_be_empty = kind == Expression::Kind::kSequence
                                ? std::ranges::all_of(parts, &Expression::may_be_empty)
                                : std::ranges::any_of(parts, &Expression::may_be_empty);
  return {
      .kind = kind, .parts = std::move(parts), .looks_around = looks, .may_be_empty = may_be_empty};
}

Expression zero_width(Expression::Kind kind) {
  return {.kind = kind, .looks_around = true, .may_be_empty = true};
}

class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : pattern_(pattern) {}

  /// The choices between "|" outside of groups.
  std::vector<Expression> operator()() {
    std::vector<Expression> all = choices();
    if (!is_end()) fail_at("expected the end", ErrorKind::kFormat);
    return all;
  }

 private:
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

  std::vector<Expression> choices() {
    std::vector<Expression> all;
    do {
      std::vector<Expression> parts;
      while (!is_end() && !sees('|') && !sees(')')) parts.push_back(repeated());
      all.push_back(joined(Expression::Kind::kSequence, std::move(parts)));
    } while (takes('|'));
    return all;
  }
  Expression repeated() {
    Expression what = atom();
    const auto bounds = repeat_bounds();
    if (!bounds) return what;
    (void)takes('?');  // which text is found first does not matter here
    const auto [least, most] = *bounds;
    const bool looks = what.looks_around;
    if (looks && most > kMaxLooks) {
      unsupported("look-ahead, '^' or '$' in what is repeated more than 100 times");
    }
    const bool may_be_empty = what.may_be_empty || least == 0;
    std::vector<Expression> parts;
    parts.push_back(std::move(what));
    return {.kind = Expression::Kind::kRepeat,
            .parts = std::move(parts),
            .least = least,
            .most = most,
            .looks_around = looks,
            .may_be_empty = may_be_empty};
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

  Expression atom() {
    if (takes('^')) return zero_width(Expression::Kind::kStart);
    if (takes('$')) return zero_width(Expression::Kind::kEnd);
    if (takes('(')) return group();
    return {.ranges = character_class()};
  }
  CharacterRanges character_class() {
    if (takes('[')) return bracket_class();
    if (takes('.')) return all_but({{U'\n', U'\n'}, {U'\r', U'\r'}, {0x2028, 0x2029}});
    if (takes('\\')) return escape();
    if (sees('*') || sees('+') || sees('?') || sees('{')) {
      fail_at("expected something to repeat", ErrorKind::kFormat);
    }
    const char32_t character = next_character();
    return {{character, character}};
  }
  Expression group() {
    const bool is_negated = takes("?!");
    const bool is_ahead = is_negated || takes("?=");
    if (!is_ahead && takes("?")) skip_name();
    if (++depth_ > Grammar::kMaxDepth) unsupported("nesting of more than 100 groups");
    Expression inside = joined(Expression::Kind::kEither, choices());
    --depth_;
    if (!takes(')')) fail_at("expected ')'", ErrorKind::kFormat);
    if (!is_ahead) return inside;
    if (++num_looks_ > kMaxLooks) unsupported("look-ahead more than 100 times");
    Expression ahead = zero_width(Expression::Kind::kAhead);
    ahead.is_negated = is_negated;
    ahead.parts.push_back(std::move(inside));
    return ahead;
  }
  /// Of a group, behind "?".
  void skip_name() {
    if (takes(":")) return;
    if (sees('<') &&
        (pattern_.substr(at_).starts_with("<=") || pattern_.substr(at_).starts_with("<!"))) {
      unsupported("look-behind");
    }
    if (!takes("P<") && !takes("<")) unsupported("a group with flags");
    at_ = std::min(pattern_.find('>', at_), pattern_.size() - 1) + 1;
  }
  char32_t next_character() {
    if (is_end()) fail_at("expected a character, found the end", ErrorKind::kFormat);
    const std::string_view rest = pattern_.substr(at_);
    at_ += utf8_length(rest);
    return utf8_code_point(rest);
  }
  CharacterRanges bracket_class() {
    const bool is_negated = takes('^');
    bool is_ascii = false;
    CharacterRanges ranges;
    while (!sees(']')) {
      const CharacterRanges low = class_item(is_ascii);
      const bool is_range = low.size() == 1 && low[0].first == low[0].last && sees('-') &&
                            at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        ranges.insert(ranges.end(), low.begin(), low.end());
        continue;
      }
      ++at_;
      const CharacterRanges high = class_item(is_ascii);
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
  CharacterRanges class_item(bool& is_ascii) {
    if (!takes('\\')) {
      const char32_t character = next_character();
      return {{character, character}};
    }
    is_ascii = is_ascii || (!is_end() && std::string_view("dwsDWS").find(pattern_[at_]) !=
                                             std::string_view::npos);
    if (takes('b')) return {{U'\b', U'\b'}};
    return escape();
  }
  CharacterRanges escape() {
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

  static constexpr std::size_t kMaxLooks = 100;

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::size_t num_looks_ = 0;
};

/// Makes sets of expressions: of each, the texts that it takes and that go on with one of a set,
/// since look-ahead rules out some of these.
class ExpressionSets {
 public:
  explicit ExpressionSets(RegularSets& sets) : sets_(sets) {}

  /// The texts that it describes from end to end.
  RegularSets::Id whole(const Expression& expression) {
    return set_of(expression, sets_.empty(), Place::kStart);
  }
  /// The texts in which it finds something.
  RegularSets::Id found(const Expression& expression) {
    const auto any = sets_.characters({{0, kLastCharacter}});
    const auto at_start = set_of(expression, sets_.all(), Place::kStart);
    const auto later = set_of(expression, sets_.all(), Place::kWithin);
    if (at_start == later) return sets_.sequence(sets_.all(), later);
    return sets_.either({at_start, sets_.sequence(sets_.repeat(any, 1, kUnbounded), later)});
  }

 private:
  using Id = RegularSets::Id;
  using Kind = Expression::Kind;
  enum class Place : std::uint8_t { kStart, kMaybeStart, kWithin };

  Id set_of(const Expression& expression, Id next, Place place) {
    if (++num_sets_ > RegularSets::kMaxWork) {
      unsupported("look-ahead, '^' or '$' in what is repeated as often");
    }
    switch (expression.kind) {
      case Kind::kCharacters:
        return sets_.sequence(sets_.characters(expression.ranges), next);
      case Kind::kSequence:
        return sequence(expression, next, place);
      case Kind::kEither:
        return either(expression, next, place);
      case Kind::kRepeat:
        return repeated(expression, next, place);
      case Kind::kStart:
        if (place == Place::kMaybeStart) {
          unsupported("'^' behind what may be empty");
        }
        return place == Place::kStart ? next : sets_.none();
      case Kind::kEnd:
        return sets_.both({sets_.empty(), next});
      case Kind::kAhead:
        break;
    }
    return ahead(expression, next, place);
  }
  Id ahead(const Expression& expression, Id next, Place place) {
    const Id seen = set_of(expression.parts[0], sets_.all(), place);
    return sets_.both({expression.is_negated ? sets_.all_but(seen) : seen, next});
  }
  static Place behind(const Expression& expression, Place place) {
    if (place == Place::kWithin || is_zero_width(expression)) return place;
    return expression.may_be_empty ? Place::kMaybeStart : Place::kWithin;
  }
  Id sequence(const Expression& expression, Id next, Place place) {
    std::vector<Place> places;
    for (const Expression& each : expression.parts) {
      places.push_back(place);
      place = behind(each, place);
    }
    for (std::size_t i = places.size(); i-- > 0;) {
      next = set_of(expression.parts[i], next, places[i]);
    }
    return next;
  }
  Id either(const Expression& expression, Id next, Place place) {
    const Id behind_each = expression.looks_around ? next : sets_.empty();
    std::vector<Id> all;
    for (const Expression& each : expression.parts) {
      all.push_back(set_of(each, behind_each, place));
    }
    const Id any = sets_.either(std::move(all));
    return expression.looks_around ? any : sets_.sequence(any, next);
  }
  Id repeated(const Expression& expression, Id next, Place place) {
    const Expression& what = expression.parts[0];
    if (!expression.looks_around) {
      const Id once = set_of(what, sets_.empty(), place);
      return sets_.sequence(sets_.repeat(once, expression.least, expression.most), next);
    }
    Id all = next;
    for (std::size_t i = expression.most; i-- > 0;) {
      const Id once = set_of(what, all, i == 0 ? place : behind(what, place));
      all = i < expression.least ? once : sets_.either({once, next});
    }
    return all;
  }

  [[noreturn]] static void unsupported(const std::string& what) {
    fail(ErrorKind::kUnsupported, what + " is not supported in what a model is to write");
  }

  RegularSets& sets_;
  std::size_t num_sets_ = 0;
};

}  // namespace

RegularSets::Id pattern_set(RegularSets& sets, std::string_view pattern) {
  check_utf8(pattern);
  std::vector<RegularSets::Id> all;
  for (const Expression& each : PatternReader(pattern)()) {
    all.push_back(ExpressionSets(sets).found(each));
  }
  return sets.either(std::move(all));
}

Grammar grammar_of_pattern(std::string_view pattern) {
  check_utf8(pattern);
  RegularSets sets;
  Grammar grammar;
  const RegularSets::Id texts =
      ExpressionSets(sets).whole(joined(Expression::Kind::kEither, PatternReader(pattern)()));
  const Symbol root = grammar.declare("root");
  grammar.define(root, sets.choices(texts, grammar, [&](CharacterRanges ranges) {
    return grammar.characters(std::move(ranges));
  }));
  grammar.set_root(root);
  return grammar;
}

}  // namespace halftone::lm

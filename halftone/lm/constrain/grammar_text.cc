// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/grammar_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

bool is_word(char sign) {
  return std::isalnum(static_cast<unsigned char>(sign)) != 0 || sign == '-' || sign == '_';
}

class GrammarReader {
 public:
  explicit GrammarReader(std::string_view text) : text_(text) {}

  Grammar operator()() {
    skip_space(true);
    while (!is_end()) rule();
    for (const auto& [name, symbol] : rules_) {
      if (!defined_.contains(name)) {
        fail(ErrorKind::kFormat, "grammar: expected a rule '" + name + " ::= ...', found none");
      }
    }
    if (!defined_.contains("root")) {
      fail(ErrorKind::kFormat, "grammar: expected a rule 'root ::= ...', found none");
    }
    grammar_.set_root(rules_.at("root"));
    return std::move(grammar_);
  }

 private:
  [[nodiscard]] bool is_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool sees(char sign) const { return !is_end() && text_[at_] == sign; }
  bool takes(std::string_view sign) {
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  [[noreturn]] void fail_here(const std::string& expected) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    const std::string found = is_end() ? "the end" : "'" + std::string(text_.substr(at_, 1)) + "'";
    fail(ErrorKind::kFormat,
         "grammar, line " + std::to_string(line) + ": expected " + expected + ", found " + found);
  }
  void skip_space(bool with_lines) {
    while (!is_end()) {
      if (sees('#')) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (sees(' ') || sees('\t') || (with_lines && (sees('\n') || sees('\r')))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  void rule() {
    const std::string name = word();
    skip_space(false);
    if (!takes("::=")) fail_here("'::='");
    skip_space(true);
    const Symbol symbol = rule_named(name);
    if (!defined_.insert(name).second) fail_here("one rule '" + name + "'; before");
    grammar_.define(symbol, either(false));
    if (!is_end() && !sees('\n') && !sees('\r')) fail_here("the end of the line");
    skip_space(true);
  }
  std::string word() {
    const std::size_t first = at_;
    while (!is_end() && is_word(text_[at_])) ++at_;
    if (first == at_) fail_here("the name of a rule");
    return std::string(text_.substr(first, at_ - first));
  }
  Symbol rule_named(const std::string& name) {
    const auto found = rules_.find(name);
    if (found != rules_.end()) return found->second;
    return rules_.emplace(name, grammar_.declare(name)).first->second;
  }

  /// @param is_nested  in parentheses, where lines do not end a rule
  Choices either(bool is_nested) {
    std::vector<Choices> all{sequence(is_nested)};
    while (takes_bar(is_nested)) {
      skip_space(true);
      all.push_back(sequence(is_nested));
    }
    return Grammar::either(std::move(all));
  }
  /// A "|", also at the beginning of the next line.
  bool takes_bar(bool is_nested) {
    const std::size_t before = at_;
    skip_space(true);
    if (takes("|")) return true;
    if (!is_nested) at_ = before;
    return false;
  }
  Choices sequence(bool is_nested) {
    std::vector<Choices> parts;
    for (;;) {
      skip_space(is_nested);
      if (is_end() || sees('|') || sees(')') || sees('\n') || sees('\r')) break;
      parts.push_back(repeated());
    }
    return grammar_.sequence(std::move(parts));
  }
  Choices repeated() {
    Choices what = element();
    for (;;) {
      if (takes("*")) {
        what = grammar_.repeat(std::move(what), 0, kUnbounded);
      } else if (takes("+")) {
        what = grammar_.repeat(std::move(what), 1, kUnbounded);
      } else if (takes("?")) {
        what = grammar_.optional(std::move(what));
      } else if (takes("{")) {
        what = counted(std::move(what));
      } else {
        return what;
      }
    }
  }
  Choices counted(Choices what) {
    const std::size_t least = count();
    skip_space(false);
    std::size_t most = least;
    if (takes(",")) {
      skip_space(false);
      most = sees('}') ? kUnbounded : count();
      skip_space(false);
    }
    if (!takes("}") || most < least) fail_here("'}' behind bounds in order");
    return grammar_.repeat(std::move(what), least, most);
  }
  std::size_t count() {
    skip_space(false);
    std::size_t number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc{} || number > Grammar::kMaxRepeat) {
      fail_here("a number of at most " + std::to_string(Grammar::kMaxRepeat));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }
  Choices element() {
    if (takes("\"")) return literal();
    if (takes("[")) return grammar_.characters(character_class());
    if (takes(".")) return grammar_.characters({{0, kLastCharacter}});
    if (!takes("(")) return {{rule_named(word())}};
    if (++depth_ > Grammar::kMaxDepth) fail_here("at most 100 parentheses in each other");
    Choices inside = either(true);
    --depth_;
    if (!takes(")")) fail_here("')'");
    return inside;
  }
  Choices literal() {
    std::string bytes;
    while (!takes("\"")) {
      const char32_t next = character();
      bytes += to_utf8(next);
    }
    return grammar_.text(bytes);
  }
  std::vector<CharacterRange> character_class() {
    const bool is_negated = takes("^");
    std::vector<CharacterRange> ranges;
    while (!takes("]")) {
      const char32_t first = character();
      char32_t last = first;
      if (sees('-') && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        last = character();
      }
      if (last < first) fail_here("a range in order; before");
      ranges.push_back({first, last});
    }
    return is_negated ? all_but(std::move(ranges)) : ranges;
  }
  char32_t character() {
    if (is_end() || sees('\n')) fail_here("a character");
    if (!takes("\\")) {
      const std::string_view rest = text_.substr(at_);
      at_ += utf8_length(rest);
      return utf8_code_point(rest);
    }
    constexpr std::array<std::pair<std::string_view, char32_t>, 7> kSigns{{{"n", U'\n'},
                                                                           {"r", U'\r'},
                                                                           {"t", U'\t'},
                                                                           {"\\", U'\\'},
                                                                           {"\"", U'"'},
                                                                           {"[", U'['},
                                                                           {"]", U']'}}};
    for (const auto& [sign, meaning] : kSigns) {
      if (takes(sign)) return meaning;
    }
    if (takes("x")) return hexadecimal(2);
    if (takes("u")) return hexadecimal(4);
    if (takes("U")) return hexadecimal(8);
    fail_here("one of n, r, t, \\, \", [, ], x, u, U behind '\\'");
  }
  char32_t hexadecimal(std::size_t digits) {
    std::uint32_t number = 0;
    const std::string_view text = text_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    const bool is_character = number <= kLastCharacter && (number < 0xD800 || number > 0xDFFF);
    if (error != std::errc{} || end != text.data() + digits || !is_character) {
      fail_here(std::to_string(digits) + " hexadecimal digits of a character");
    }
    at_ += digits;
    return static_cast<char32_t>(number);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Grammar grammar_;
  std::map<std::string, Symbol> rules_;
  std::set<std::string> defined_;
};

}  // namespace

Grammar parse_grammar(std::string_view text) {
  with_context("grammar", [&] { check_utf8(text); });
  return GrammarReader(text)();
}

}  // namespace halftone::lm

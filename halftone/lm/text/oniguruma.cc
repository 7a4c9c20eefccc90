// SPDX-License-Identifier: Apache-2.0
// Spells patterns of Oniguruma for PCRE2.
#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/regex.h"

namespace halftone::lm {
namespace {

// Members of classes. PCRE2's \s has U+180E too, its \w lacks marks and connectors.
constexpr std::string_view kWhiteSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\xB2\xB3\xB9\xBC-\xBE\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
constexpr std::string_view kHexDigit = "0-9A-Fa-f";

std::string one_of(std::string_view members) { return "[" + std::string(members) + "]"; }
std::string none_of(std::string_view members) { return "[^" + std::string(members) + "]"; }

/// Names of properties that PCRE2 does not have; its own are those of categories and scripts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kProperties = {{
    {"letter", "L"},
    {"alpha", "L"},
    {"mark", "M"},
    {"number", "N"},
    {"digit", "Nd"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"other", "C"},
    {"control", "Cc"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"otherletter", "Lo"},
}};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape(false);
      } else if (c == '[') {
        character_class();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        repetition();
      } else {
        result_ += c;
        ++at_;
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view part) const {
    fail(ErrorKind::kUnsupported, "regular expression '" + std::string(pattern_) + "': found '" +
                                      std::string(part) + "', which is not known here");
  }
  [[nodiscard]] std::string_view ahead(std::size_t length) const {
    return pattern_.substr(at_, length);
  }
  [[nodiscard]] bool is_next(std::string_view text) const {
    return pattern_.substr(at_).starts_with(text);
  }

  /// A backslash and what belongs to it.
  void escape(bool in_class) {
    if (at_ + 1 >= pattern_.size()) refuse("\\");
    const char c = pattern_[at_ + 1];
    if (c == 'p' || c == 'P') return property();
    if (c == 'u') return code_point();
    const std::string_view whole = ahead(2);
    at_ += 2;
    constexpr std::string_view kSame = "adefnrtxDzAGXKRkgZ0123456789";
    const bool is_letter_or_digit =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == 'v') {
      result_ += R"(\x0B)";
    } else if (set_escape(c, in_class)) {
      return;
    } else if (is_letter_or_digit &&
               (kSame.find(c) == std::string_view::npos ||
                (in_class && std::string_view("AGXKRkgzZ").find(c) != std::string_view::npos))) {
      refuse(whole);
    } else {
      result_ += whole;
    }
  }

  /// \s, \w, \h and \b and their opposites.
  bool set_escape(char c, bool in_class) {
    const auto write = [&](std::string_view members, bool is_inverted) {
      if (in_class && is_inverted) refuse(std::string("[\\") + c + "]");
      result_ += in_class ? std::string(members) : is_inverted ? none_of(members) : one_of(members);
    };
    if (c == 'S' && in_class) {
      result_ += R"(\P{Xsp})";
    } else if (c == 's' || c == 'S') {
      write(kWhiteSpace, c == 'S');
    } else if (c == 'w' || c == 'W') {
      write(kWord, c == 'W');
    } else if (c == 'h' || c == 'H') {
      write(kHexDigit, c == 'H');
    } else if (c == 'b' || c == 'B') {
      if (in_class) refuse("[\\b]");
      const std::string word = one_of(kWord);
      result_ += c == 'b'
                     ? "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))"
                     : "(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))";
    } else {
      return false;
    }
    return true;
  }

  /// \p{Name}, \p{^Name}, \P{Name}
  void property() {
    const std::size_t close = pattern_.find('}', at_);
    if (at_ + 2 >= pattern_.size() || pattern_[at_ + 2] != '{' || close == std::string_view::npos) {
      refuse(ahead(2));
    }
    std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    bool is_inverted = pattern_[at_ + 1] == 'P';
    if (name.starts_with('^')) {
      is_inverted = !is_inverted;
      name.remove_prefix(1);
    }
    std::string plain;
    for (const char c : name) {
      if (c == ' ' || c == '_' || c == '-') continue;
      plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (const std::string_view other : {"alnum", "upper", "lower", "punct", "space", "word",
                                         "xdigit", "graph", "print", "cntrl", "blank", "ascii"}) {
      if (plain == other) refuse(pattern_.substr(at_, close + 1 - at_));
    }
    const auto* known =
        std::ranges::find(kProperties, plain, [](const auto& p) { return p.first; });
    result_ += is_inverted ? "\\P{" : "\\p{";
    result_ += known == kProperties.end() ? name : known->second;
    result_ += '}';
    at_ = close + 1;
  }

  /// \u0020
  void code_point() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    const bool is_right =
        digits.size() == 4 && std::ranges::all_of(digits, [](char c) {
          return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        });
    if (!is_right) refuse("\\u");
    result_.append("\\x{").append(digits).append("}");
    at_ += 6;
  }

  void character_class() {
    result_ += pattern_[at_++];
    if (is_next("^")) result_ += pattern_[at_++];
    if (is_next("]")) {  // the first one is a member
      result_ += "\\]";
      ++at_;
    }
    while (at_ < pattern_.size() && pattern_[at_] != ']') {
      if (is_next("&&")) refuse("&& in a class");
      if (is_next("[:")) {
        const std::size_t close = pattern_.find(":]", at_ + 2);
        const bool is_known = is_next("[:punct:]");
        if (close == std::string_view::npos || !is_known) refuse("[:");
        result_ += R"(\p{P}\p{S})";
        at_ = close + 2;
      } else if (pattern_[at_] == '[') {
        refuse("[ in a class");
      } else if (pattern_[at_] == '\\') {
        escape(true);
      } else {
        result_ += pattern_[at_++];
      }
    }
  }

  /// What stands behind "(?": options, of which m means that a dot matches line feeds too.
  void group() {
    if (is_next("(*")) refuse("(*");
    if (!is_next("(?")) {
      result_ += pattern_[at_++];
      return;
    }
    for (const std::string_view known :
         {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?<", "(?#"}) {
      if (!is_next(known)) continue;
      result_ += known;
      at_ += known.size();
      return;
    }
    const std::size_t end = pattern_.find_first_of(":)", at_);
    const std::string_view options = pattern_.substr(at_ + 2, end - at_ - 2);
    if (end == std::string_view::npos || options.empty() ||
        options.find_first_not_of("imx-") != std::string_view::npos) {
      refuse(ahead(3));
    }
    result_ += "(?";
    for (const char option : options) result_ += option == 'm' ? 's' : option;
    result_ += pattern_[end];
    at_ = end + 1;
  }

  /// {2}, {2,}, {,2} and {2,3}; else a brace of its own.
  void repetition() {
    const std::size_t close = pattern_.find('}', at_);
    const std::string_view inside =
        close == std::string_view::npos ? "" : pattern_.substr(at_ + 1, close - at_ - 1);
    const bool is_number = !inside.empty() && inside != "," &&
                           inside.find_first_not_of("0123456789,") == std::string_view::npos &&
                           std::ranges::count(inside, ',') <= 1;
    if (!is_number) {
      result_ += "\\{";
      ++at_;
      return;
    }
    at_ = close + 1;
    const bool is_fixed = inside.find(',') == std::string_view::npos;
    if (is_next("+") || (is_fixed && is_next("?"))) refuse("}" + std::string(ahead(1)));
    result_.append("{").append(inside.starts_with(',') ? "0" : "").append(inside).append("}");
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string oniguruma_to_pcre(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace halftone::lm

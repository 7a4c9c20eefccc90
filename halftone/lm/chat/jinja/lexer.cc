// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/text.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// With one kind of line end, and without the last one.
std::string normal_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool is_return = source[i] == '\r';
    if (is_return && i + 1 < source.size() && source[i + 1] == '\n') ++i;
    text += is_return ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Bytes of the white space that a text begins with.
std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(utf8_code_point(text.substr(at)))) {
    at += utf8_length(text.substr(at));
  }
  return at;
}

/// The text without the white space that it ends with.
std::string_view without_space_behind(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (!is_space(utf8_code_point(text.substr(at)))) end = at + length;
    at += length;
  }
  return text.substr(0, end);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      add_data(tag);
      if (tag == kNone) break;
      at_ = tag + 2;
      read_tag(source_[tag + 1]);
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    fail(ErrorKind::kFormat, "line " + std::to_string(line_) + ": " + what);
  }

  void add(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), line_});
  }

  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }

  /// Goes on, counting lines.
  void skip(std::size_t bytes) {
    line_ += static_cast<std::size_t>(std::ranges::count(source_.substr(at_, bytes), '\n'));
    at_ += bytes;
  }

  [[nodiscard]] std::size_t next_tag() const {
    for (std::size_t at = at_; at + 1 < source_.size(); ++at) {
      if (source_[at] != '{') continue;
      const char next = source_[at + 1];
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return kNone;
  }

  /// The text up to a tag, without the white space that the tag takes.
  void add_data(std::size_t tag) {
    std::string_view data = source_.substr(at_, tag == kNone ? kNone : tag - at_);
    const std::size_t length = data.size();
    const char sign = tag != kNone && tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (tag != kNone && sign == '-') {
      data = without_space_behind(data);
    } else if (tag != kNone && sign != '+' && source_[tag + 1] != '{') {
      const std::size_t line = data.rfind('\n') + 1;  // 0 without one
      const bool begins_line = line > 0 || at_ == 0 || source_[at_ - 1] == '\n';
      if (begins_line && leading_space(data.substr(line)) == data.size() - line) {
        data = data.substr(0, line);
      }
    }
    if (!data.empty()) add(TokenKind::kData, data);
    skip(length);
  }

  void read_tag(char kind) {
    if (rest().starts_with('-') || rest().starts_with('+')) ++at_;
    if (kind == '#') return read_comment();
    if (kind == '%' && is_raw_begin()) return read_raw();
    add(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
    read_expression(kind);
  }

  /// Behind the end of a tag: "-" takes all white space, a block one line feed.
  void skip_behind(bool takes_all, bool takes_line) {
    if (takes_all) {
      skip(leading_space(rest()));
    } else if (takes_line && rest().starts_with('\n')) {
      skip(1);
    }
  }

  void read_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == kNone) fail_here("a comment does not end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    skip(end + 2 - at_);
    skip_behind(sign == '-', sign != '+');
  }

  /// Bytes of "raw %}" or "endraw %}" here; nothing if something else is here.
  [[nodiscard]] std::optional<std::size_t> length_of(std::string_view word) const {
    std::size_t at = leading_space(rest());
    if (!rest().substr(at).starts_with(word)) return std::nullopt;
    at += word.size();
    at += leading_space(rest().substr(at));
    if (rest().substr(at).starts_with("-%}") || rest().substr(at).starts_with("+%}")) ++at;
    return rest().substr(at).starts_with("%}") ? std::optional(at + 2) : std::nullopt;
  }
  [[nodiscard]] bool is_raw_begin() const { return length_of("raw").has_value(); }

  void read_raw() {
    const std::size_t head = *length_of("raw");
    const bool takes_space = source_[at_ + head - 3] == '-';
    skip(head);
    if (takes_space) skip(leading_space(rest()));
    const std::size_t begin = at_;
    for (std::size_t end = source_.find("{%", begin); end != kNone;
         end = source_.find("{%", end + 2)) {
      at_ = end + 2;
      const char sign = at_ < source_.size() ? source_[at_] : '\0';
      if (sign == '-' || sign == '+') ++at_;
      const auto tail = length_of("endraw");
      if (!tail) continue;
      std::string_view text = source_.substr(begin, end - begin);
      if (sign == '-') text = without_space_behind(text);
      if (!text.empty()) add(TokenKind::kData, text);
      const char last = source_[at_ + *tail - 3];
      const std::size_t length = at_ + *tail - begin;
      at_ = begin;
      skip(length);
      return skip_behind(last == '-', last != '+');
    }
    fail_here("a raw block does not end");
  }

  void read_expression(char kind) {
    const std::string_view end = kind == '%' ? "%}" : "}}";
    std::string open;  // brackets that are open
    while (true) {
      skip(leading_space(rest()));
      if (rest().empty()) fail_here("a tag does not end");
      const bool has_sign = rest()[0] == '-' || (kind == '%' && rest()[0] == '+');
      if (open.empty() && rest().substr(has_sign ? 1 : 0).starts_with(end)) {
        const char sign = has_sign ? rest()[0] : '\0';
        add(kind == '%' ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
        skip(has_sign ? 3 : 2);
        return skip_behind(sign == '-', kind == '%' && sign != '+');
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = rest()[0];
    if (is_digit(c)) return read_number();
    if (c == '"' || c == '\'') return read_string(c);
    const char32_t first = utf8_code_point(rest());
    if (c == '_' || is_letter(first)) return read_name();
    constexpr std::array<std::string_view, 6> kLong = {"**", "//", "==", "!=", ">=", "<="};
    constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    const bool is_long =
        std::ranges::any_of(kLong, [&](std::string_view each) { return rest().starts_with(each); });
    const std::size_t length = is_long ? 2 : 1;
    if (length == 1 && kShort.find(c) == kNone) {
      fail_here("unexpected character '" + std::string(rest().substr(0, utf8_length(rest()))) +
                "'");
    }
    balance(c, open);
    add(TokenKind::kOperator, rest().substr(0, length));
    skip(length);
  }

  void balance(char c, std::string& open) const {
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (kOpening.find(c) != kNone) open += kClosing[kOpening.find(c)];
    if (kClosing.find(c) == kNone) return;
    if (open.empty() || open.back() != c) {
      fail_here("unexpected '" + std::string(1, c) + "'" +
                (open.empty() ? "" : ", expected '" + std::string(1, open.back()) + "'"));
    }
    open.pop_back();
  }

  void read_name() {
    std::size_t length = 0;
    while (length < rest().size()) {
      const char32_t c = utf8_code_point(rest().substr(length));
      if (c != '_' && !is_letter(c) && !is_decimal(c)) break;
      length += utf8_length(rest().substr(length));
    }
    add(TokenKind::kName, rest().substr(0, length));
    skip(length);
  }

  /// Digits, with "_" between them.
  [[nodiscard]] std::size_t digits_from(std::size_t at) const {
    const std::size_t begin = at;
    while (at < rest().size() && (is_digit(rest()[at]) || (rest()[at] == '_' && at > begin))) ++at;
    return at - begin;
  }

  void read_number() {
    std::size_t length = digits_from(0);
    bool is_float = false;
    if (length < rest().size() && rest()[length] == '.' && digits_from(length + 1) > 0) {
      length += 1 + digits_from(length + 1);
      is_float = true;
    }
    if (length < rest().size() && (rest()[length] == 'e' || rest()[length] == 'E')) {
      std::size_t sign = length + 1;
      if (sign < rest().size() && (rest()[sign] == '+' || rest()[sign] == '-')) ++sign;
      if (digits_from(sign) > 0) {
        length = sign + digits_from(sign);
        is_float = true;
      }
    }
    if (length < rest().size() && std::isalpha(static_cast<unsigned char>(rest()[length])) != 0) {
      fail_here("expected a decimal number, found '" + std::string(rest().substr(0, length + 1)) +
                "'");
    }
    std::string text(rest().substr(0, length));
    std::erase(text, '_');
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, text);
    skip(length);
  }

  void read_string(char quote) {
    std::size_t end = 1;
    while (end < rest().size() && rest()[end] != quote)
      end += rest()[end] == '\\' ? std::size_t{2} : 1;
    if (end >= rest().size()) fail_here("a text in quotes does not end");
    add(TokenKind::kString, unescaped(rest().substr(1, end - 1)));
    skip(end + 1);
  }

  [[nodiscard]] std::string unescaped(std::string_view text) const {
    std::string result;
    while (!text.empty()) {
      if (text[0] != '\\' || text.size() == 1) {
        result += text[0];
        text.remove_prefix(1);
        continue;
      }
      text.remove_prefix(1);
      result += escaped(text);
    }
    return result;
  }

  /// What stands behind a backslash, which is taken off the text.
  [[nodiscard]] std::string escaped(std::string_view& text) const {
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = text[0];
    if (const std::size_t letter = kLetters.find(c); letter != kNone) {
      text.remove_prefix(1);
      return {kMeanings[letter]};
    }
    if (c == '\n') {
      text.remove_prefix(1);
      return "";
    }
    if (c >= '0' && c <= '7') return code_point(text, 0, 3, 8);
    if (c == 'x') return code_point(text, 1, 2, 16);
    if (c == 'u') return code_point(text, 1, 4, 16);
    if (c == 'U') return code_point(text, 1, 8, 16);
    return "\\";  // Python leaves other escapes as they are
  }

  [[nodiscard]] std::string code_point(std::string_view& text, std::size_t skipped,
                                       std::size_t digits, char32_t base) const {
    char32_t value = 0;
    std::size_t count = 0;
    for (; count < digits && skipped + count < text.size(); ++count) {
      const char c = text[skipped + count];
      const auto digit = std::string_view("0123456789abcdef")
                             .find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
      if (digit == kNone || digit >= base) break;
      value = value * base + static_cast<char32_t>(digit);
    }
    const bool is_right = base == 8 || count == digits;
    if (!is_right || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      fail_here("a text has an escape that is no character");
    }
    text.remove_prefix(skipped + count);
    return to_utf8(value);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  check_utf8(source);
  const std::string text = normal_lines(source);
  return Lexer(text).run();
}

}  // namespace halftone::lm::jinja

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/literal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {
    {{"true", "true"},
     {"True", "true"},
     {"false", "false"},
     {"False", "false"},
     {"null", "null"},
     {"None", "null"}}};

bool is_of_literal_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool is_of_json_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/// A character within a string in JSON.
void append_character(std::string& json, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    (json += '\\') += c;
  } else if (c == '\n') {
    json += "\\n";
  } else if (static_cast<unsigned char>(c) < 0x20) {
    ((json += "\\u00") += kDigits[static_cast<unsigned char>(c) >> 4]) += kDigits[c & 15];
  } else {
    json += c;
  }
}

/// An escape of Python as one of JSON.
void append_escape(std::string& json, std::string_view text, std::size_t& at) {
  constexpr std::string_view kSame = "\"\\/bfnrtu";
  const char c = text[at];
  if (c == '\'') {
    json += c;
  } else if (c == 'x') {
    json += "\\u00";
  } else if (kSame.find(c) != std::string_view::npos) {
    (json += '\\') += c;
  } else {
    json += "\\\\";
    append_character(json, c);
  }
}

class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::size_t at, std::string_view mark)
      : text_(text), at_(at), mark_(mark) {}

  Literal operator()() {
    Literal found;
    found.fit = value(0);
    found.end = at_;
    if (found.fit != Fit::kYes) return found;
    try {
      check_json(json_);
    } catch (const Error&) {
      found.fit = Fit::kNo;
    }
    found.json = std::move(json_);
    return found;
  }

 private:
  [[nodiscard]] bool is_over() const { return at_ >= text_.size(); }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kWhiteSpace, at_), text_.size()); }

  Fit value(std::size_t depth) {
    skip_blanks();
    if (is_over()) return Fit::kBegun;
    if (depth > kMaxDepth) return Fit::kNo;
    const char c = text_[at_];
    if (const Fit marked = marked_text(); marked != Fit::kNo) return marked;
    if (c == '"' || c == '\'') return quoted_text(c);
    if (c == '{') return members(depth);
    if (c == '[') return elements(depth);
    return (c >= '0' && c <= '9') || c == '-' ? number() : word();
  }

  Fit marked_text() {
    const std::string_view rest = text_.substr(at_);
    if (mark_.size() <= 1) return Fit::kNo;  // none, or a quote, which has escapes
    if (rest.size() < mark_.size() && mark_.starts_with(rest)) return Fit::kBegun;
    if (!rest.starts_with(mark_)) return Fit::kNo;
    const std::size_t end = rest.find(mark_, mark_.size());
    if (end == std::string_view::npos) return Fit::kBegun;
    json_ += '"';
    for (const char c : rest.substr(mark_.size(), end - mark_.size())) append_character(json_, c);
    json_ += '"';
    at_ += end + mark_.size();
    return Fit::kYes;
  }

  Fit quoted_text(char quote) {
    json_ += '"';
    for (++at_; !is_over(); ++at_) {
      if (text_[at_] == quote) break;
      if (text_[at_] != '\\') {
        append_character(json_, text_[at_]);
      } else if (++at_ < text_.size()) {
        append_escape(json_, text_, at_);
      }
    }
    if (is_over()) return Fit::kBegun;
    ++at_;
    json_ += '"';
    return Fit::kYes;
  }

  Fit number() {
    for (; !is_over() && is_of_json_number(text_[at_]); ++at_) json_ += text_[at_];
    const char last = text_[at_ - 1];
    return is_over() && (last < '0' || last > '9') ? Fit::kBegun : Fit::kYes;
  }

  [[nodiscard]] std::string_view name() {
    const std::size_t begin = at_;
    while (!is_over() && is_of_literal_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Fit word() {
    const std::string_view found = name();
    for (const auto& [word, json] : kWords) {
      if (found == word) {
        json_ += json;
        return Fit::kYes;
      }
      if (is_over() && !found.empty() && word.starts_with(found)) return Fit::kBegun;
    }
    return Fit::kNo;
  }

  Fit key() {
    skip_blanks();
    if (is_over()) return Fit::kBegun;
    if (!is_of_literal_name(text_[at_])) return value(kMaxDepth);  // a text
    const std::string_view found = name();
    ((json_ += '"') += found) += '"';
    return is_over() ? Fit::kBegun : Fit::kYes;
  }

  /// A character that must come next.
  Fit sign(char wanted) {
    skip_blanks();
    if (is_over()) return Fit::kBegun;
    return text_[at_] == wanted ? Fit::kYes : Fit::kNo;
  }

  Fit member(std::size_t depth) {
    if (const Fit fit = key(); fit != Fit::kYes) return fit;
    if (const Fit fit = sign(':'); fit != Fit::kYes) return fit;
    ++at_;
    json_ += ": ";
    return value(depth + 1);
  }

  Fit members(std::size_t depth) {
    return listed('{', '}', [&] { return member(depth); });
  }
  Fit elements(std::size_t depth) {
    return listed('[', ']', [&] { return value(depth + 1); });
  }

  template <typename Read>
  Fit listed(char open, char close, const Read& read) {
    json_ += open;
    ++at_;
    for (bool is_first = true; sign(close) != Fit::kYes; is_first = false) {
      if (is_over()) return Fit::kBegun;
      if (!is_first) {
        if (text_[at_++] != ',') return Fit::kNo;
        json_ += ", ";
      }
      if (const Fit fit = read(); fit != Fit::kYes) return fit;
    }
    ++at_;
    json_ += close;
    return Fit::kYes;
  }

  std::string_view text_;
  std::size_t at_;
  std::string_view mark_;
  std::string json_;
};

}  // namespace

Literal read_literal(std::string_view text, std::size_t at, std::string_view mark) {
  return LiteralReader(text, at, mark)();
}

}  // namespace halftone::lm

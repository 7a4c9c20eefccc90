// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Code {
  explicit Code(const std::string& pattern) {
    const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
        pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
    if (context == nullptr) fail(ErrorKind::kMemory, "regular expression: too little memory");
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    PCRE2_SIZE at = 0;
    const std::string spelled = oniguruma_to_pcre(pattern);
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &at, context.get()));
    if (code == nullptr) {
      fail(ErrorKind::kFormat, "splitting rule '" + pattern + "': " + message_of(error));
    }
  }

  std::unique_ptr<pcre2_code, void (*)(pcre2_code*)> code{nullptr, pcre2_code_free};
};

Regex::Regex(const std::string& pattern)
    : pattern_(pattern), code_(std::make_shared<const Code>(pattern)) {}

void Regex::for_each_match(std::string_view text,
                           const std::function<void(std::size_t, std::size_t)>& visit) const {
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create_from_pattern(code_->code.get(), nullptr), pcre2_match_data_free);
  if (match == nullptr) fail(ErrorKind::kMemory, "splitting text: there is not enough memory");
  std::optional<std::size_t> last;
  for (std::size_t from = 0; from <= text.size();) {
    const int count = pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), from, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (count == PCRE2_ERROR_NOMATCH) return;
    if (count < 0) fail(ErrorKind::kUnsupported, "splitting text: " + message_of(count));
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
    const std::size_t begin = found[0];
    const std::size_t end = found[1];
    if (begin > end || end < from)
      fail(ErrorKind::kUnsupported, "splitting text: a match ends before it begins");
    if (begin == end && last == end) {  // of no use; the next may begin behind a character
      from = end + (end < text.size() ? utf8_length(text.substr(end)) : 1);
      continue;
    }
    visit(begin, end);
    from = end;
    last = end;
  }
}

std::string escaped_pattern(std::string_view text) {
  constexpr std::string_view kMeaning = R"(\.+*?()|[]{}^$#&-~)";
  std::string pattern;
  for (const char c : text) {
    if (kMeaning.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace halftone::lm

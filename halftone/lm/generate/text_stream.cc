// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/text_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The longest end of a text that begins a stop text, in bytes.
std::size_t length_of_begun(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t longest = 0;
  for (const std::string_view stop : stops) {
    std::size_t length = std::min(text.size(), stop.empty() ? 0 : stop.size() - 1);
    while (length > longest && !text.ends_with(stop.substr(0, length))) --length;
    longest = std::max(longest, length);
  }
  return longest;
}

std::size_t first_of(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view stop : stops) {
    if (!stop.empty()) first = std::min(first, text.find(stop));
  }
  return first;
}

}  // namespace

TextStream::TextStream(Tokenizer tokenizer, StopRules rules, bool is_begin)
    : tokenizer_(std::move(tokenizer)), rules_(std::move(rules)), is_begin_(is_begin) {}

std::string TextStream::text_of(TokenId token) {
  const TokenKind kind = tokenizer_.vocabulary().token(token).kind;
  const bool is_hidden =
      kind == TokenKind::kControl && std::ranges::find(rules_.shown, token) == rules_.shown.end();
  if (is_hidden || kind == TokenKind::kUnknown) return "";
  if (std::exchange(is_begin_, false) && kind != TokenKind::kControl)
    return tokenizer_.decode({&token, 1});
  return tokenizer_.text(token);
}

void TextStream::move_characters(bool is_end) {
  std::string_view rest = bytes_;
  while (!rest.empty()) {
    const std::size_t length = utf8_length(rest);
    const std::size_t begun = length == 0 ? utf8_begun_length(rest) : 0;
    if (length == 0 && begun == rest.size() && !is_end) break;
    text_ += length > 0 ? rest.substr(0, length) : kReplacement;
    rest.remove_prefix(std::max({length, begun, std::size_t{1}}));
  }
  bytes_.erase(0, bytes_.size() - rest.size());
}

std::string TextStream::push(TokenId token) {
  if (reason_ != StopReason::kNone) return "";
  if (std::ranges::find(rules_.tokens, token) != rules_.tokens.end()) {
    std::string rest = finish();
    if (reason_ == StopReason::kNone) reason_ = StopReason::kToken;
    return rest;
  }
  bytes_ += text_of(token);
  move_characters(false);
  const std::size_t stop = first_of(text_, rules_.texts);
  if (stop != std::string_view::npos) {
    reason_ = StopReason::kText;
    bytes_.clear();
    return std::exchange(text_, {}).substr(0, stop);
  }
  const std::size_t certain = text_.size() - length_of_begun(text_, rules_.texts);
  std::string piece = text_.substr(0, certain);
  text_.erase(0, certain);
  return piece;
}

std::string TextStream::finish() {
  move_characters(true);
  const std::size_t stop = first_of(text_, rules_.texts);
  if (stop != std::string_view::npos) reason_ = StopReason::kText;
  return std::exchange(text_, {}).substr(0, stop);
}

}  // namespace halftone::lm

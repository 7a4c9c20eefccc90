// SPDX-License-Identifier: Apache-2.0
// Splits the source of a template into its tokens, as Jinja 3.1 with trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm::jinja {

enum class TokenKind : std::uint8_t {
  kData,           ///< text outside of tags
  kBlockBegin,     ///< {%
  kBlockEnd,       ///< %}
  kVariableBegin,  ///< {{
  kVariableEnd,    ///< }}
  kName,
  kString,  ///< its text, without quotes and escapes
  kInteger,
  kFloat,
  kOperator,  ///< its text: "==", "("
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::size_t line = 1;
};

/// @param source  UTF-8; one line feed at its end does not count
/// @return ends with kEnd; comments and raw blocks are gone
/// @throws Error kFormat "line 3: ..." of what is no template
std::vector<Token> tokens_of(std::string_view source);

}  // namespace halftone::lm::jinja

// SPDX-License-Identifier: Apache-2.0
// How a model writes calls of functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/chat/chat_template.h"

namespace halftone::lm {

/// What is written around the names and the arguments of calls:
///   begin name middle arguments (between name middle arguments)* end
/// with arguments that are an object in JSON, as in
///   <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>
struct ToolNotation {
  /// Where an id of the model's choice is.
  static constexpr char kId = '\x01';

  std::string begin;
  std::string middle;
  std::string between;  ///< empty: one call only
  std::string end;
};

/// Found in a conversation with calls, as the template writes it.
/// @param ends   texts that end answers
/// @throws Error kUnsupported if the template ignores descriptions of functions, or writes calls in
///         another notation
ToolNotation tool_notation(const ChatTemplate& chat_template, const ChatMarks& marks,
                           std::span<const std::string> ends);

/// Control tokens of the notation, which are text in a call.
std::vector<TokenId> tokens_of(const ToolNotation& notation, const Vocabulary& vocabulary);

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Functions and their calls as texts of messages, for templates that have neither.
#pragma once

#include <string_view>

#include "halftone/lm/chat/chat_request.h"

namespace halftone::lm {

/// Which message describes the functions.
enum class ToolPlace {
  kSystem,  ///< that of the system, which is added if there is none
  kUser,    ///< the first one of the user, for templates without a system
};

/// Begins the descriptions of functions.
inline constexpr std::string_view kToolsMark = "<tools>";

/// The request without "tools", "tool_calls" and messages of role "tool": all are in contents, as
/// the templates of Hermes and Qwen 2.5 write them,
///
///     <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>
///
/// and results as <tool_response>\n...\n</tool_response> of the user.
/// @throws Error kFormat if messages or tools are malformed
ChatRequest with_tools_as_text(const ChatRequest& request, ToolPlace place);

}  // namespace halftone::lm

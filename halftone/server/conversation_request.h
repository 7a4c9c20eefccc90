// SPDX-License-Identifier: Apache-2.0
// The conversation of a request, and the functions that an answer may call.
#pragma once

#include "halftone/server/completion_request.h"
#include "halftone/server/json_body.h"

namespace halftone::server {

/// Takes "messages", "tools", "tool_choice", "parallel_tool_calls", "documents",
/// "chat_template_kwargs", "continue_final_message" and "add_generation_prompt" out of a request.
/// @throws RequestError 400 that names the member which is wrong
void take_conversation(Json& request, CompletionRequest& result);

}  // namespace halftone::server

// SPDX-License-Identifier: Apache-2.0
// Requests for texts, in OpenAI's protocol.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/api/text_generation.h"
#include "halftone/lm/tools/tool_function.h"

namespace halftone::server {

/// /v1/chat/completions, /v1/completions, /v1/responses.
enum class Endpoint { kChat, kCompletion, kResponse };

/// A text, or tokens.
using Prompt = std::variant<std::string, std::vector<lm::TokenId>>;

/// The functions that a chat may call, which its conversation describes.
struct ToolUse {
  std::vector<lm::ToolFunction> functions{};  ///< none: it calls none
  bool is_required = false;                   ///< the answer is calls
  bool is_single = false;                     ///< one call at most, where it is required
  bool is_past = false;                       ///< messages have calls or results
};

/// What a body asks for.
struct CompletionRequest {
  [[nodiscard]] bool is_conversation() const { return endpoint != Endpoint::kCompletion; }

  Endpoint endpoint = Endpoint::kChat;
  std::string model{};             ///< empty: none is named
  lm::ChatRequest conversation{};  ///< of chats and responses
  ToolUse tools{};
  std::vector<Prompt> prompts{};  ///< of completions
  v0::GenerateOptions options{};
  std::size_t choices = 1;     ///< for each prompt; choice i has the seed + i
  std::size_t candidates = 1;  ///< for each prompt, of which the most probable become choices
  bool echoes = false;         ///< prompts stand in front of the texts
  std::vector<lm::TokenId> stop_tokens{};  ///< which end texts besides the model's own
  bool streams = false;
  bool streams_usage = false;             ///< and ends with the number of tokens
  std::optional<std::size_t> logprobs{};  ///< most probable tokens to tell with each token
  std::string user{};                     ///< who shares with others
  std::vector<std::string> ignored{};     ///< members that mean nothing here
  std::string repeated{};                 ///< members that a response repeats, in JSON
};

/// @param defaults  of members that are absent; its max_tokens is a limit unless it is 0
/// @throws RequestError 400 that names the member which is wrong or not followed
CompletionRequest parse_completion(Endpoint endpoint, std::string_view body,
                                   const v0::GenerateOptions& defaults);

/// Texts or tokens, as requests have them: one, or a list.
/// @param name       of the member
/// @param max_count  of them
/// @throws RequestError 400
std::vector<Prompt> prompts_of(const nlohmann::ordered_json& value, const std::string& name,
                               std::size_t max_count);

}  // namespace halftone::server

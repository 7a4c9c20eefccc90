// SPDX-License-Identifier: Apache-2.0
// Continues a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/generate/sampler.h"
#include "halftone/lm/generate/text_stream.h"
#include "halftone/lm/generate/token_model.h"

namespace halftone::lm {

/// Why a generation ended.
enum class EndReason : std::uint8_t {
  kCount,        ///< it has as many tokens as were asked for
  kToken,        ///< an end token
  kText,         ///< a stop text
  kContext,      ///< the context is full
  kInterrupted,  ///< it was asked to stop
};

/// "count", "token", "text", "context", "interrupted"
constexpr std::string_view to_string(EndReason reason) {
  switch (reason) {
    case EndReason::kCount:
      return "count";
    case EndReason::kToken:
      return "token";
    case EndReason::kText:
      return "text";
    case EndReason::kContext:
      return "context";
    case EndReason::kInterrupted:
      break;
  }
  return "interrupted";
}

struct GenerateOptions {
  std::size_t max_tokens = 128;
  SamplingOptions sampling{};
  StopRules stops{};
  bool is_begin = false;     ///< the result is a text of its own: an answer
  std::size_t sequence = 0;  ///< of the model
  /// Called with each token and the text that is certain with it, perhaps none; at the end with
  /// kNoToken and the rest of the text, if there is one; before each run on a part of the prompt
  /// with kNoToken and no text. Returns whether to go on. May be empty.
  std::function<bool(TokenId token, std::string_view text)> on_token{};
};

struct Generation {
  std::string text;             ///< without end token and stop text
  std::vector<TokenId> tokens;  ///< with the end token
  EndReason reason = EndReason::kCount;
  std::size_t reused_tokens = 0;    ///< of the prompt, which the model had already
  std::size_t computed_tokens = 0;  ///< of the prompt
  double prompt_seconds = 0;
  double seconds_to_first = 0;         ///< from the beginning to the first token
  double generate_seconds = 0;         ///< for the tokens after the first one
  std::size_t forgotten_messages = 0;  ///< of a conversation, which were left out to make room
  bool begins_twice = false;  ///< the prompt has the token that begins a text, which models add too

  /// 0 if there were none.
  [[nodiscard]] double prompt_tokens_per_second() const {
    return per_second(computed_tokens, prompt_seconds);
  }
  [[nodiscard]] double tokens_per_second() const {
    return tokens.empty() ? 0 : per_second(tokens.size() - 1, generate_seconds);
  }

 private:
  static double per_second(std::size_t count, double seconds) {
    return count > 0 && seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

/// Continues a text token by token. The sequence begins anew, except where it has the tokens of the
/// prompt already; after this it has the prompt and the tokens but the last one.
/// @param prompt   the whole text so far, not empty
/// @throws Error   kUsage if the prompt is empty or longer than the context, before anything is
///                 run, or there is no such sequence; as Sampler
Generation generate(TokenModel& model, const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                    const GenerateOptions& options);

}  // namespace halftone::lm

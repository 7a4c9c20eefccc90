// SPDX-License-Identifier: Apache-2.0
// Continues a text.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halftone/lm/constrain/constraint.h"
#include "halftone/lm/generate/token_model.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/types/language.hpp"

namespace halftone::lm {

using v0::End;
using v0::Generation;

/// What is asked of generate().
struct GenerateJob : v0::GenerateOptions {
  std::vector<TokenId> end_tokens{};
  bool is_begin = false;  ///< the result is a text of its own: an answer
  v0::OnToken on_token{};
  std::shared_ptr<TextForm> form{};  ///< what the text has to be, shared by others; null: anything
  /// Gets the logits that each token is drawn from, [tokens of the tokenizer], before on_token.
  std::function<void(std::span<const float>)> on_logits{};
  std::vector<TokenId> shown_tokens{};  ///< control tokens with a text, which is their name
};

/// Tokens of a prompt, not empty, that a sequence has at its front and need not be run: never the
/// last one, whose logits are needed.
std::size_t reusable_tokens(std::span<const TokenId> known, std::span<const TokenId> prompt);

/// Continues a text token by token. The sequence begins anew, except where it has the tokens of the
/// prompt already; after this it has the prompt and the tokens but the last one.
/// @param prompt   the whole text so far, not empty
/// @throws Error   kUsage if the prompt is empty or longer than the context, before anything is
///                 run, or there is no such sequence; as Sampler and Constraint
Generation generate(TokenModel& model, const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                    const GenerateJob& job);

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Runs the parts of a tokenizer. Private to this folder.
#pragma once

#include <string_view>
#include <vector>

#include "halftone/lm/text/tokenizer_state.h"

namespace halftone::lm {

/// Appends the tokens of a text, without those in front and behind.
/// @param text  UTF-8
void append_tokens(const Tokenizer::State& state, std::string_view text,
                   const EncodeOptions& options, std::vector<TokenId>& tokens);

}  // namespace halftone::lm

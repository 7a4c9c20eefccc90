// SPDX-License-Identifier: Apache-2.0
// Tokens whose meaning is known by their texts.
#pragma once

#include <functional>
#include <string_view>

namespace halftone::lm {

/// Whether a token of this text ends an answer: "<|im_end|>", "<|eot_id|>", "</s>", ...
/// @param has  whether the vocabulary has a token of a text, on which some depend
/// Source: ggml-org/llama.cpp, src/llama-vocab.cpp.
bool ends_answers(std::string_view text, const std::function<bool(std::string_view)>& has);

}  // namespace halftone::lm

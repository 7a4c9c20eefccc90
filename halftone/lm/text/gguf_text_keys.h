// SPDX-License-Identifier: Apache-2.0
// What GGUF files call the parts of a tokenizer, and what else they say of texts.
// Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py.
#pragma once

namespace halftone::lm::gguf_text_key {

inline constexpr const char* kModel = "tokenizer.ggml.model";
inline constexpr const char* kRule = "tokenizer.ggml.pre";  ///< see SplitRule
inline constexpr const char* kTokens = "tokenizer.ggml.tokens";
inline constexpr const char* kScores = "tokenizer.ggml.scores";
inline constexpr const char* kKinds = "tokenizer.ggml.token_type";  ///< see TokenKind
inline constexpr const char* kMerges = "tokenizer.ggml.merges";
inline constexpr const char* kBegin = "tokenizer.ggml.bos_token_id";
inline constexpr const char* kEnd = "tokenizer.ggml.eos_token_id";
inline constexpr const char* kUnknown = "tokenizer.ggml.unknown_token_id";
inline constexpr const char* kPadding = "tokenizer.ggml.padding_token_id";
inline constexpr const char* kEndOfTurn = "tokenizer.ggml.eot_token_id";
inline constexpr const char* kEndOfMessage = "tokenizer.ggml.eom_token_id";
inline constexpr const char* kSeparator = "tokenizer.ggml.seperator_token_id";  ///< so spelled
inline constexpr const char* kFillPadding = "tokenizer.ggml.fim_pad_token_id";
inline constexpr const char* kFillRepository = "tokenizer.ggml.fim_rep_token_id";
inline constexpr const char* kFillSeparator = "tokenizer.ggml.fim_sep_token_id";
inline constexpr const char* kAddsBegin = "tokenizer.ggml.add_bos_token";
inline constexpr const char* kAddsEnd = "tokenizer.ggml.add_eos_token";
inline constexpr const char* kMergesSpaces = "tokenizer.ggml.remove_extra_whitespaces";
inline constexpr const char* kCharsmap = "tokenizer.ggml.precompiled_charsmap";
inline constexpr const char* kLowersCase = "tokenizer.ggml.normalizer.lowercase";
inline constexpr const char* kStripsAccents = "tokenizer.ggml.normalizer.strip_accents";
inline constexpr const char* kAddsSpace = "tokenizer.ggml.add_space_prefix";
inline constexpr const char* kChatTemplate = "tokenizer.chat_template";

}  // namespace halftone::lm::gguf_text_key

// SPDX-License-Identifier: Apache-2.0
// The ways to split texts into words that GGUF files name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

/// A value of tokenizer.ggml.pre.
struct SplitRule {
  std::string_view name{};
  std::vector<std::string> patterns{};  ///< one after another, each isolates its matches
  bool takes_whole_words = false;       ///< a word that is a token is not split
  bool adds_begin = false;              ///< where tokenizer.ggml.add_bos_token is absent
};

/// The rule of this name: "gpt-2", "llama-bpe", "qwen2", ...
/// @throws Error kUnsupported that lists the names
const SplitRule& split_rule(std::string_view name);
/// The first rule that does this; null if there is none.
const SplitRule* find_split_rule(const std::vector<std::string>& patterns, bool takes_whole_words);

}  // namespace halftone::lm

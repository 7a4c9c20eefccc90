// SPDX-License-Identifier: Apache-2.0
// Splits text into words by the rules of language models.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

/// A way to split that GGUF files name in tokenizer.ggml.pre.
struct SplitRule {
  std::string_view name;
  std::vector<std::string> patterns;  ///< of a Splitter
  bool takes_whole_words = false;     ///< a word that is a token is not split
};

/// The rule of this name: "gpt-2", "llama-bpe", "qwen2", ...
/// @throws Error kUnsupported that lists the names
const SplitRule& split_rule(std::string_view name);
/// The first rule that does this; null if there is none.
const SplitRule* find_split_rule(const std::vector<std::string>& patterns, bool takes_whole_words);

/// Regular expressions of Perl's kind that are applied one after another: each splits every part
/// that those before it have left into its matches and what lies between them. Any number of
/// threads may use it.
class Splitter {
 public:
  /// @param patterns  where \s and \S mean the white space of Unicode
  /// @throws Error kFormat if a pattern is none
  explicit Splitter(const std::vector<std::string>& patterns);

  [[nodiscard]] std::vector<std::string> patterns() const;
  /// @param text  UTF-8
  /// @return      views of it, which together are the text
  /// @throws Error kUnsupported if a match takes too long
  [[nodiscard]] std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;  // shared by copies
};

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Splits text into words by the rules of language models.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

/// Regular expressions of Perl's kind that are applied one after another: each splits every part
/// that those before it have left into its matches and what lies between them. Any number of
/// threads may use it.
class Splitter {
 public:
  /// @param patterns  where \s and \S mean the white space of Unicode
  /// @throws Error kFormat if a pattern is none
  explicit Splitter(const std::vector<std::string>& patterns);
  /// The rules that GGUF files name in tokenizer.ggml.pre: "gpt-2", "llama-bpe", "qwen2", ...
  /// @throws Error kUnsupported that lists the names
  static Splitter named(std::string_view name);

  /// @param text  UTF-8
  /// @return      views of it, which together are the text
  /// @throws Error kUnsupported if a match takes too long
  [[nodiscard]] std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;  // shared by copies
};

}  // namespace halftone::lm

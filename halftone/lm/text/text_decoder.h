// SPDX-License-Identifier: Apache-2.0
// What tokens are in a text.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace halftone::lm {

/// The step of a decoder: (text of a token, whether it begins the text). Source of their names and
/// meaning: the package tokenizers, whose decoders see all tokens at once; here every token has a
/// text of its own.
using DecoderStep = std::function<void(std::string& text, bool is_first)>;

/// Steps one after another.
class TextDecoder {
 public:
  void add(DecoderStep step) { steps_.push_back(std::move(step)); }
  void apply(std::string& text, bool is_first) const {
    for (const DecoderStep& step : steps_) step(text, is_first);
  }

 private:
  std::vector<DecoderStep> steps_;
};

namespace decoder_step {

DecoderStep replace_text(std::string from, std::string to);
/// Drops up to `count` times a text in front. @param is_of_whole  of the whole text only
DecoderStep strip_front(std::string content, std::size_t count, bool is_of_whole);
/// The same at the end of tokens.
DecoderStep strip_back(std::string content, std::size_t count);
/// The sign becomes a space. @param drops_first  it has no text in the first token
DecoderStep metaspace(std::string sign, bool drops_first);
/// Characters that represent bytes.
DecoderStep bytes();
/// A space in front of tokens without the prefix. @param cleans  not in front of punctuation
DecoderStep word_pieces(std::string prefix, bool cleans);
/// A space in front of tokens: they are words.
DecoderStep words();

}  // namespace decoder_step
}  // namespace halftone::lm

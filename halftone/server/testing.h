// SPDX-License-Identifier: Apache-2.0
// What tests of the server share: a model that knows a text by heart, and what it sends.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "halftone/api/language_model.h"
#include "halftone/lm/generate/testing.h"
#include "halftone/lm/text/testing.h"
#include "halftone/server/completion_delivery.h"

namespace halftone::server {

/// Its tokens are bytes, <|im_start|> (256), <|im_end|> (257) and </s> (258).
inline lm::ModelTexts parrot_texts() {
  const lm::Tokenizer tokenizer =
      lm::Tokenizer::from_gguf(lm::byte_tokens({"<|im_start|>", "<|im_end|>", "</s>"}));
  return {tokenizer, "", lm::chat_marks(tokenizer), lm::end_tokens(tokenizer)};
}

inline TextModel parrot(const std::string& text, std::size_t context = 200) {
  lm::ModelTexts texts = parrot_texts();
  const lm::Tokenizer tokenizer = texts.tokenizer;
  return {
      "models/parrot.gguf", std::move(texts),
      std::make_unique<lm::ParrotModel>(259, context, tokenizer.encode(text, {.control = true}))};
}

/// Sends a whole answer. @return its last state
inline CompletionDelivery::State send_all(CompletionDelivery& delivery, std::string& sent) {
  const Sink sink{[&](const std::string& text) {
                    EXPECT_NE(text, "") << "which would end the answer";
                    sent += text;
                    return true;
                  },
                  [] { return true; }};
  CompletionDelivery::State state = CompletionDelivery::State::kMore;
  while (state == CompletionDelivery::State::kMore) state = delivery.send(sink);
  return state;
}

}  // namespace halftone::server

// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/text_embedding.h"

#include "halftone/api/language_model.h"
#include "halftone/base/error.h"

namespace halftone {

TextEmbedder& TextModel::embedder() const {
  if (embedding_ == nullptr || !embedding_->open) {
    fail(ErrorKind::kUnsupported, name_ + ": a model of this kind gives no vectors of texts");
  }
  std::call_once(embedding_->once, [&] { embedding_->embedder = embedding_->open(); });
  return *embedding_->embedder;
}

std::vector<std::vector<float>> embed_tokens(const TextModel& model,
                                             std::span<const std::vector<lm::TokenId>> texts,
                                             std::size_t dimensions) {
  std::vector<std::vector<float>> vectors = model.embedder().vectors(texts);
  for (std::vector<float>& each : vectors) each = lm::shortened(each, dimensions);
  return vectors;
}

std::vector<std::vector<float>> embed(const TextModel& model, std::span<const std::string> texts,
                                      std::size_t dimensions) {
  std::vector<std::vector<lm::TokenId>> tokens;
  for (const std::string& text : texts) tokens.push_back(model.tokenize(text));
  return embed_tokens(model, tokens, dimensions);
}

}  // namespace halftone

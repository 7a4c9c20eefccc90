// SPDX-License-Identifier: Apache-2.0
// Vectors of texts, on a model that is open.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "halftone/lm/embed/text_vectors.h"

namespace halftone {

class TextModel;

/// Gives vectors; it shares the weights of a model, and has sequences of its own. Any number of
/// threads may use it: they wait for one another.
class TextEmbedder {
 public:
  /// @param rows  lm::text_vectors() says of what kind
  TextEmbedder(std::unique_ptr<lm::TokenModel> rows, std::size_t width, lm::Pooling pooling)
      : rows_(std::move(rows)), width_(width), pooling_(pooling) {}

  [[nodiscard]] std::size_t width() const { return width_; }
  /// @throws Error as lm::text_vectors()
  std::vector<std::vector<float>> vectors(std::span<const std::vector<lm::TokenId>> texts) {
    const std::lock_guard lock(mutex_);
    return lm::text_vectors(*rows_, width_, pooling_, texts);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<lm::TokenModel> rows_;
  std::size_t width_;
  lm::Pooling pooling_;
};

/// Vectors of texts with what the model has in front of them and behind.
/// @param dimensions  of the vectors; 0: those of the model
/// @throws Error as lm::text_vectors(), lm::shortened() and TextModel::embedder()
std::vector<std::vector<float>> embed(const TextModel& model, std::span<const std::string> texts,
                                      std::size_t dimensions = 0);
/// The same of tokens.
std::vector<std::vector<float>> embed_tokens(const TextModel& model,
                                             std::span<const std::vector<lm::TokenId>> texts,
                                             std::size_t dimensions = 0);

}  // namespace halftone

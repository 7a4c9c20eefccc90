// SPDX-License-Identifier: Apache-2.0
// A model for tests that knows a text by heart.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/generate/token_model.h"

namespace halftone::lm {

/// Follows each token with the one behind its last occurrence in a text: the logit of that is
/// `certainty`, those of the others are 0. It counts its runs.
class ParrotModel : public TokenModel {
 public:
  ParrotModel(std::size_t vocabulary, std::size_t context, std::vector<TokenId> text,
              float certainty = 10)
      : vocabulary_(vocabulary),
        context_(context),
        text_(std::move(text)),
        certainty_(certainty),
        sequences_(2) {}

  [[nodiscard]] std::size_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::size_t context() const override { return context_; }
  [[nodiscard]] std::size_t sequences() const override { return sequences_.size(); }
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t sequence) const override {
    return sequences_.at(sequence);
  }
  std::vector<float> append(std::size_t sequence, std::span<const TokenId> tokens,
                            bool all_logits) override {
    std::vector<TokenId>& known = sequences_.at(sequence);
    if (known.size() + tokens.size() > context_)
      fail(ErrorKind::kUsage, "context: expected at most " + std::to_string(context_) + " tokens");
    runs.emplace_back(tokens.begin(), tokens.end());
    known.insert(known.end(), tokens.begin(), tokens.end());
    std::vector<float> logits;
    for (std::size_t i = all_logits ? 0 : tokens.size() - 1; i < tokens.size(); ++i) {
      std::vector<float> row(vocabulary_);
      for (std::size_t k = 0; k + 1 < text_.size(); ++k) {
        if (text_[k] != tokens[i]) continue;
        row.assign(vocabulary_, 0);
        row[static_cast<std::size_t>(text_[k + 1])] = certainty_;
      }
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  }
  void truncate(std::size_t sequence, std::size_t length) override {
    if (length > sequences_.at(sequence).size()) fail(ErrorKind::kUsage, "sequence: too short");
    sequences_[sequence].resize(length);
  }
  [[nodiscard]] std::size_t bytes_per_token(std::size_t length) const override {
    return 1000 + length;
  }

  std::vector<std::vector<TokenId>> runs;

 private:
  std::size_t vocabulary_;
  std::size_t context_;
  std::vector<TokenId> text_;
  float certainty_;
  std::vector<std::vector<TokenId>> sequences_;
};

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Samples of texts, to which a model is fitted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// Sequences of tokens of equal length.
struct Samples {
  std::size_t tokens = 0;  ///< of each
  std::vector<std::vector<TokenId>> fit;
  std::vector<std::vector<TokenId>> held_out;  ///< for what should not be judged by the fit's data
  std::vector<std::size_t> texts{};            ///< index of each one's text, those to fit first
};

struct SampleOptions {
  std::size_t tokens = 512;   ///< of a sample, at least 2
  std::size_t fit = 64;       ///< samples at most, at least 1
  std::size_t held_out = 16;  ///< likewise; 0: none
  TokenId begin = kNoToken;   ///< replaces the first token of each sample, unless it is kNoToken
};

/// @throws Error kUsage if an option is out of range
void check_options(const SampleOptions& options);
/// @param tokens  of a text
/// @throws Error kUsage if it is shorter than two samples, one if none is held out
void check_text(std::size_t tokens, const SampleOptions& options);

/// Divides texts into samples that follow each other without overlap, and takes as many of each
/// text, evenly spaced. Every (fit / held_out + 1)-th one is held out. Short texts give fewer.
/// @param texts  tokens of each text
/// @throws Error kUsage as check_options() and check_text()
Samples choose_samples(std::span<const std::vector<TokenId>> texts, const SampleOptions& options);

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Samples of texts, to which a model is fitted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/lm/text/vocabulary.h"
#include "halftone/types/defaults.hpp"

namespace halftone::lm {

/// Tokens of a text.
struct TokenizedText {
  std::vector<TokenId> tokens;
  /// The first token of each of its documents, ascending from 0; empty: it is one document.
  std::vector<std::size_t> documents{};
};

/// Sequences of tokens of equal length.
struct Samples {
  std::size_t tokens = 0;  ///< of each
  std::vector<std::vector<TokenId>> fit;
  std::vector<std::vector<TokenId>> held_out;  ///< for what should not be judged by the fit's data
  std::vector<std::size_t> texts{};            ///< index of each one's text, those to fit first
  /// Likewise of the document that it begins in, counted over all texts. Short documents in a row
  /// count as one, see choose_samples().
  std::vector<std::size_t> documents{};
  std::size_t adjoining = 0;  ///< samples to fit that begin where another one ends
};

struct SampleOptions {
  std::size_t tokens = v0::kSampleTokens;      ///< of a sample, at least 2
  std::size_t fit = v0::kFitSamples;           ///< samples at most, at least 1
  std::size_t held_out = v0::kHeldOutSamples;  ///< likewise; 0: none
  TokenId begin = kNoToken;  ///< replaces the first token of each sample, unless it is kNoToken
};

/// @throws Error kUsage if an option is out of range
void check_options(const SampleOptions& options);
/// @param tokens  of a text
/// @throws Error kUsage if it is shorter than two samples, one if none is held out
void check_text(std::size_t tokens, const SampleOptions& options);

/// Takes samples without overlap, as many of each text if it has so many, evenly spaced over its
/// tokens. Fewer where texts are short.
///
/// Those to fit and those held out come from different documents. Documents that are shorter than a
/// sample are joined with the next ones. Of every `step` = fit / held_out + 1 in a row, the longest
/// is held out that is not above their mean length. Texts of fewer documents are combined,
/// if they have so many together; if not, every step-th sample of a text is held out.
/// @throws Error kUsage as check_options() and check_text(), and without a text
Samples choose_samples(std::span<const TokenizedText> texts, const SampleOptions& options);

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Samples that a model writes itself, where there is no text to fit it to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// Sequences that run together: each has a cache of keys and values.
inline constexpr std::size_t kSyntheticSequences = 16;

struct SyntheticOptions {
  std::size_t count = 80;               ///< samples
  std::size_t tokens = 512;             ///< of each, at least 2
  TokenId begin = kNoToken;             ///< the first token of each sample, unless it is kNoToken
  std::vector<TokenId> first_tokens{};  ///< that may follow it; not empty
  std::size_t num_tokens = 0;           ///< the model writes tokens below it
  std::uint64_t seed = 0;
  ProgressSink progress{};  ///< may be empty
  /// Called with all samples so far, after each kSyntheticSequences of them; may be empty.
  std::function<void(const std::vector<std::vector<TokenId>>& samples)> on_samples{};
};

/// Continues a list of samples up to `count`. A sample is a random one of the first tokens, and
/// what the model writes behind it with the probabilities that it gives (temperature 1), across end
/// tokens. Sample i depends on the seed and i alone: samples have the same tokens for any number of
/// threads, and if an interrupted run has written some of them.
///
/// Source: Liu et al., LLM-QAT: Data-free quantization aware training for large language models,
/// 2023 (arXiv:2305.17888), sec. 2.1. Differs: all tokens are drawn; there, the first few are the
/// most probable ones.
/// @param decoder  with kSyntheticSequences sequences and a context of `tokens`
/// @param samples  those that are there
/// @throws Error as Decoder::append_each() and Sampler::sample()
void write_samples(Decoder& decoder, const SyntheticOptions& options,
                   std::vector<std::vector<TokenId>>& samples);

}  // namespace halftone::lm

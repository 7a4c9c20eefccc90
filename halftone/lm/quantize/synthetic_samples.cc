// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/synthetic_samples.h"

#include <algorithm>
#include <span>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/lm/generate/sampler.h"

namespace halftone::lm {
namespace {

/// A sample in progress.
class Writer {
 public:
  Writer(const SyntheticOptions& options, std::size_t index)
      : options_(options), sampler_(sampling(options.seed, index)) {
    // A stream of its own, so that first tokens do not depend on what is drawn behind them.
    Random random(options.seed ^ (0x9E3779B97F4A7C15U * (index + 1)));
    if (options.begin != kNoToken) tokens_.push_back(options.begin);
    tokens_.push_back(options.first_tokens[random.below(options.first_tokens.size())]);
  }

  [[nodiscard]] std::vector<TokenId>& tokens() { return tokens_; }
  /// @param logits  [vocabulary] of the token behind those that are there
  void write(std::span<const float> logits) {
    tokens_.push_back(sampler_.sample(logits.first(options_.num_tokens)));
  }

 private:
  static SamplingOptions sampling(std::uint64_t seed, std::size_t index) {
    SamplingOptions options;
    options.temperature = 1;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    options.seed = Random(seed + index).next();
    return options;
  }

  const SyntheticOptions& options_;
  Sampler sampler_;
  std::vector<TokenId> tokens_;
};

/// Writes some samples together, token by token.
void run_together(Decoder& decoder, std::vector<Writer>& writers, const SyntheticOptions& options,
                  const std::function<void()>& on_token) {
  for (std::size_t s = 0; s < writers.size(); ++s) decoder.truncate(s, 0);
  std::vector<SequencePart> next(writers.size());
  for (std::size_t at = 0; at + 1 < options.tokens; ++at) {
    on_token();
    for (std::size_t s = 0; s < writers.size(); ++s) next[s] = {s, {&writers[s].tokens()[at], 1}};
    const std::vector<float> logits = decoder.append_each(next);
    if (writers[0].tokens().size() > at + 1) continue;  // the first token behind the begin token
    const std::size_t vocabulary = decoder.vocabulary();
    parallel_for(writers.size(), [&](std::size_t s) {
      writers[s].write(std::span(logits).subspan(s * vocabulary, vocabulary));
    });
  }
}

}  // namespace

void write_samples(Decoder& decoder, const SyntheticOptions& options,
                   std::vector<std::vector<TokenId>>& samples) {
  HALFTONE_ASSERT(!options.first_tokens.empty() && options.tokens >= 2);
  while (samples.size() < options.count) {
    const std::size_t first = samples.size();
    const std::size_t count = std::min(options.count - first, kSyntheticSequences);
    std::vector<Writer> writers;
    for (std::size_t i = 0; i < count; ++i) writers.emplace_back(options, first + i);
    std::size_t tokens_done = 0;
    run_together(decoder, writers, options, [&] {
      const std::size_t done = first * options.tokens + count * tokens_done++;
      if (!options.progress) return;
      options.progress(
          static_cast<double>(done) / static_cast<double>(options.count * options.tokens),
          "writing sample " + std::to_string(first + 1) + " to " + std::to_string(first + count) +
              " of " + std::to_string(options.count));
    });
    for (Writer& writer : writers) samples.push_back(std::move(writer.tokens()));
    if (options.on_samples) options.on_samples(samples);
  }
}

}  // namespace halftone::lm

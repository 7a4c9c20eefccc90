// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/samples.h"

#include <algorithm>
#include <string>

#include "halftone/base/error.h"

namespace halftone::lm {
void check_options(const SampleOptions& options) {
  if (options.tokens < 2) {
    fail(ErrorKind::kUsage, "tokens of a calibration sample: expected 2 or more, found " +
                                std::to_string(options.tokens));
  }
  if (options.fit == 0) fail(ErrorKind::kUsage, "calibration samples: expected 1 or more, found 0");
}

void check_text(std::size_t tokens, const SampleOptions& options) {
  const std::size_t least = (options.held_out > 0 ? 2 : 1) * options.tokens;
  if (tokens >= least) return;
  fail(ErrorKind::kUsage, "calibration text: expected " + std::to_string(least) +
                              " tokens or more, found " + std::to_string(tokens) +
                              "; give a longer text or shorter samples");
}

Samples choose_samples(std::span<const std::vector<TokenId>> texts, const SampleOptions& options) {
  check_options(options);
  if (texts.empty()) fail(ErrorKind::kUsage, "calibration: expected a text, found none");
  const bool holds_out = options.held_out > 0;
  const std::size_t step =
      holds_out ? std::max<std::size_t>(1, options.fit / options.held_out) + 1 : 0;
  const std::size_t wanted = options.fit + options.held_out;
  const std::size_t share = (wanted + texts.size() - 1) / texts.size();
  Samples samples{options.tokens, {}, {}};
  std::vector<std::size_t> held_out_texts;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    const std::vector<TokenId>& text = texts[t];
    check_text(text.size(), options);
    const std::size_t there = text.size() / options.tokens;
    const std::size_t count = std::min(share, there);
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin =
          text.begin() + static_cast<std::ptrdiff_t>(i * there / count * options.tokens);
      std::vector<TokenId> sample(begin, begin + static_cast<std::ptrdiff_t>(options.tokens));
      if (options.begin != kNoToken) sample[0] = options.begin;
      const bool is_last = holds_out && (i % step + 1 == step || (i + 1 == count && count < step));
      (is_last ? samples.held_out : samples.fit).push_back(std::move(sample));
      (is_last ? held_out_texts : samples.texts).push_back(t);
    }
  }
  samples.texts.insert(samples.texts.end(), held_out_texts.begin(), held_out_texts.end());
  return samples;
}

}  // namespace halftone::lm

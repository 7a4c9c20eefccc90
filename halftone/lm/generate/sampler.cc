// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/kernels/activation/activation.h"

namespace halftone::lm {
namespace {

/// Whether a token comes before another one, from the highest logit down. An object, which sorting
/// calls without a jump.
constexpr auto kIsBefore = [](const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
};

/// Tokens that may be drawn, in the order of ids, or from the highest logit down. The whole
/// vocabulary is not sorted, which would take longer than many models do: tokens are put into
/// buckets by logit, and only one bucket is sorted.
class Candidates {
 public:
  /// @pre there are some, in the order of ids, with finite logits
  explicit Candidates(std::vector<TokenLogit>& candidates)
      : all_(candidates), highest_(std::ranges::min_element(all_, kIsBefore)->logit) {}

  void keep_top(std::size_t count) {
    if (count == 0 || count >= all_.size()) return;
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(all_.begin(), end, all_.end(), kIsBefore);
    std::sort(all_.begin(), end, kIsBefore);
    all_.resize(count);
  }
  void keep_probable(double p) {
    if (p >= 1) return;
    const TokenLogit last = first_of_sum(1, p);
    std::erase_if(all_, [&](const TokenLogit& each) { return kIsBefore(last, each); });
  }
  void keep_near_highest(double min_p) {
    if (min_p <= 0) return;
    const double least = highest_ + elementary::log(min_p);
    // The highest one stays even if `least` was rounded up.
    std::erase_if(
        all_, [&](const TokenLogit& each) { return each.logit < least && each.logit < highest_; });
  }
  /// @pre temperature > 0
  [[nodiscard]] TokenId draw(double temperature, Random& random) const {
    return first_of_sum(temperature, random.uniform()).id;
  }

 private:
  static constexpr std::size_t kBuckets = 512;
  static constexpr float kBucketsPerFactorE = 16;  ///< the last one has all below e^-32

  /// By its logarithm relative to the highest weight, at most 0: later ones have lower logits.
  static std::size_t bucket_of(float log_weight) {
    return static_cast<std::size_t>(std::min(-log_weight * kBucketsPerFactorE, kBuckets - 1.0F));
  }
  /// Logarithms of the weights exp((logit - highest) / temperature).
  [[nodiscard]] std::vector<float> log_weights(double temperature) const {
    constexpr double kNothing = -1000;  // exp() of it is 0
    std::vector<float> logs(all_.size());
    for (std::size_t i = 0; i < logs.size(); ++i) {
      logs[i] = static_cast<float>(std::max((all_[i].logit - highest_) / temperature, kNothing));
    }
    return logs;
  }
  /// The token, from the highest logit down, at which the sum of probabilities is `share` or more.
  /// @param share  from 0 to 1
  [[nodiscard]] TokenLogit first_of_sum(double temperature, double share) const {
    const std::vector<float> logs = log_weights(temperature);
    std::vector<float> weights(logs.size());
    kernels::exp(logs, weights);
    std::array<double, kBuckets> sums{};
    for (std::size_t i = 0; i < logs.size(); ++i) sums[bucket_of(logs[i])] += double{weights[i]};
    const double wanted = share * std::accumulate(sums.begin(), sums.end(), 0.0);
    std::size_t bucket = 0;
    double sum = 0;
    while (sum + sums[bucket] < wanted) sum += sums[bucket++];  // the same sum, so it ends
    std::vector<std::pair<TokenLogit, double>> sorted;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (bucket_of(logs[i]) == bucket && weights[i] > 0) sorted.emplace_back(all_[i], weights[i]);
    }
    std::ranges::sort(sorted, kIsBefore, &std::pair<TokenLogit, double>::first);
    for (const auto& [token, weight] : sorted) {
      sum += weight;
      if (sum >= wanted) return token;
    }
    return sorted.back().first;  // the sum was rounded down
  }

  std::vector<TokenLogit>& all_;
  double highest_;
};

void check_option(bool is_good, const std::string& name, const char* expected, double found) {
  if (is_good) return;
  fail(ErrorKind::kUsage,
       name + ": expected a number " + expected + ", found " + number_text(found));
}

[[noreturn]] void fail_not_finite(std::size_t token, float logit) {
  fail(ErrorKind::kFormat,
       "logit of token " + std::to_string(token) + ": expected a number, found " +
           number_text(logit) +
           "; the model is broken, or has keys beyond float16: keep them as float32 (cache)");
}

[[noreturn]] void fail_empty() {
  fail(ErrorKind::kFormat, "logits: expected a number, found none; the model is broken");
}

/// The highest logit, of equal ones the first.
TokenId highest_logit(std::span<const float> logits) {
  float highest = -std::numeric_limits<float>::infinity();
  std::size_t token = logits.size();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] <= highest) continue;  // false for NaN
    if (!(logits[i] < std::numeric_limits<float>::infinity())) fail_not_finite(i, logits[i]);
    highest = logits[i];
    token = i;
  }
  if (token == logits.size()) fail_empty();
  return static_cast<TokenId>(token);
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {
  const auto is_from = [](double x, double low) { return std::isfinite(x) && x >= low; };
  check_option(is_from(options.temperature, 0), "temperature", "of at least 0",
               options.temperature);
  check_option(options.top_p > 0 && options.top_p <= 1, "top-p", "above 0, of 1 at most",
               options.top_p);
  check_option(is_from(options.min_p, 0) && options.min_p <= 1, "min-p", "from 0 to 1",
               options.min_p);
  check_option(is_from(options.repeat_penalty, 0) && options.repeat_penalty > 0, "repeat penalty",
               "above 0", options.repeat_penalty);
  const auto is_small = [](double x) { return x >= -2 && x <= 2; };
  check_option(is_small(options.presence_penalty), "presence penalty", "from -2 to 2",
               options.presence_penalty);
  check_option(is_small(options.frequency_penalty), "frequency penalty", "from -2 to 2",
               options.frequency_penalty);
  for (const auto& [token, bias] : options.logit_bias) {
    check_option(std::isfinite(bias), "logit bias of token " + std::to_string(token), "of any size",
                 bias);
  }
}

void Sampler::accept(TokenId token, bool is_written) {
  const bool counts = options_.presence_penalty != 0 || options_.frequency_penalty != 0;
  if (is_written && counts) ++written_[token];
  if (options_.repeat_window == 0) return;
  if (last_.size() == options_.repeat_window) last_.pop_front();
  last_.push_back(token);
}

/// The tokens that have logits, in the order of ids.
void Sampler::collect(std::span<const float> logits) {
  candidates_.resize(logits.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float logit = logits[i];
    if (!(logit < std::numeric_limits<float>::infinity())) fail_not_finite(i, logit);
    candidates_[count] = {logit, static_cast<TokenId>(i)};
    if (logit > -std::numeric_limits<float>::infinity()) ++count;
  }
  if (count == 0) fail_empty();
  candidates_.resize(count);
}

template <typename Change>
void Sampler::change(TokenId token, const Change& changed) {
  const auto found = std::ranges::lower_bound(candidates_, token, {}, &TokenLogit::id);
  if (found != candidates_.end() && found->id == token) found->logit = changed(found->logit);
}

void Sampler::add_biases() {
  for (const auto& [token, bias] : options_.logit_bias) {
    change(token, [bias = bias](double logit) { return logit + bias; });
  }
}

void Sampler::lower_written() {
  for (const auto& [token, count] : written_) {
    const double penalty =
        options_.presence_penalty + static_cast<double>(count) * options_.frequency_penalty;
    change(token, [&](double logit) { return logit - penalty; });
  }
}

void Sampler::lower_repeated() {
  std::vector<TokenId> repeated(last_.begin(), last_.end());
  std::ranges::sort(repeated);
  repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
  for (const TokenId token : repeated) {
    const double penalty = options_.repeat_penalty;
    change(token, [&](double logit) { return logit > 0 ? logit / penalty : logit * penalty; });
  }
}

bool Sampler::changes_nothing() const {
  return options_.logit_bias.empty() && options_.repeat_penalty == 1 && written_.empty();
}

TokenId Sampler::sample(std::span<const float> logits) {
  if (options_.temperature == 0 && changes_nothing()) return highest_logit(logits);
  collect(logits);
  add_biases();
  if (options_.repeat_penalty != 1) lower_repeated();
  lower_written();
  if (options_.temperature == 0) return std::ranges::min_element(candidates_, kIsBefore)->id;
  Candidates candidates(candidates_);
  candidates.keep_top(options_.top_k);
  candidates.keep_probable(options_.top_p);
  candidates.keep_near_highest(options_.min_p);
  return candidates.draw(options_.temperature, random_);
}

TokenId greedy_token(std::span<const float> logits) {
  SamplingOptions greedy;
  greedy.temperature = 0;
  return Sampler(greedy).sample(logits);
}

}  // namespace halftone::lm

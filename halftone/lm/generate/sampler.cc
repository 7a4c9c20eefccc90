// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

bool is_before(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// Tokens that may be drawn. They are in the order of ids, or from the highest logit down; sorting
/// a whole vocabulary would take longer than many models do, so only as many are sorted as needed.
class Candidates {
 public:
  /// @pre there are some, in the order of ids, with finite logits
  explicit Candidates(std::vector<TokenLogit>& candidates)
      : all_(candidates), highest_(std::ranges::min_element(all_, is_before)->logit) {}

  void keep_top(std::size_t count) {
    if (count == 0 || count >= all_.size()) return;
    sort_first(count);
    shorten(count);
  }
  void keep_probable(double p) {
    if (p >= 1) return;
    shorten(first_of_sum(1, p) + 1);
  }
  void keep_near_highest(double min_p) {
    if (min_p <= 0) return;
    const double least = highest_ + elementary::log(min_p);
    // The highest one stays even if `least` was rounded up.
    std::erase_if(
        all_, [&](const TokenLogit& each) { return each.logit < least && each.logit < highest_; });
    sorted_ = std::min(sorted_, all_.size());
  }
  /// @pre temperature > 0
  [[nodiscard]] TokenId draw(double temperature, Random& random) {
    return all_[first_of_sum(temperature, random.uniform())].id;
  }

 private:
  /// Keeps the first `count`, which are sorted.
  void shorten(std::size_t count) {
    all_.resize(count);
    sorted_ = count;
  }
  [[nodiscard]] double weight(const TokenLogit& candidate, double temperature) const {
    return elementary::exp((candidate.logit - highest_) / temperature);
  }
  /// The index, from the highest logit down, at which the sum of probabilities is `share` or more.
  std::size_t first_of_sum(double temperature, double share) {
    // In the order of ids if nothing was sorted: an order that no library chooses.
    double total = 0;
    for (const TokenLogit& each : all_) total += weight(each, temperature);
    double sum = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      sort_first(i + 1);
      sum += weight(all_[i], temperature);
      if (sum >= share * total && sum > 0) return i;
    }
    return all_.size() - 1;
  }
  /// Puts the `count` highest in order, and more in advance: each time four times as many.
  void sort_first(std::size_t count) {
    if (count <= sorted_) return;
    std::size_t end = std::max({count, std::size_t{128}, 4 * sorted_});
    if (end > all_.size() / 4) end = all_.size();
    const auto at = [&](std::size_t i) { return all_.begin() + static_cast<std::ptrdiff_t>(i); };
    if (end < all_.size()) std::nth_element(at(sorted_), at(end), all_.end(), is_before);
    std::sort(at(sorted_), at(end), is_before);
    sorted_ = end;
  }

  std::vector<TokenLogit>& all_;
  double highest_;
  std::size_t sorted_ = 0;
};

void check_option(bool is_good, const std::string& name, const char* expected, double found) {
  if (is_good) return;
  fail(ErrorKind::kUsage,
       name + ": expected a number " + expected + ", found " + number_text(found));
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
}

void Sampler::accept(TokenId token) {
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
    if (!(logit < std::numeric_limits<float>::infinity())) {
      fail(ErrorKind::kFormat, "logit of token " + std::to_string(i) +
                                   ": expected a number, found " + number_text(logit) +
                                   "; the model is broken, or has keys beyond float16: keep them "
                                   "as float32 (cache)");
    }
    candidates_[count] = {logit, static_cast<TokenId>(i)};
    if (logit > -std::numeric_limits<float>::infinity()) ++count;
  }
  if (count == 0)
    fail(ErrorKind::kFormat, "logits: expected a number, found none; the model is broken");
  candidates_.resize(count);
}

void Sampler::lower_repeated() {
  std::vector<TokenId> repeated(last_.begin(), last_.end());
  std::ranges::sort(repeated);
  repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
  for (const TokenId token : repeated) {
    const auto found = std::ranges::lower_bound(candidates_, token, {}, &TokenLogit::id);
    if (found == candidates_.end() || found->id != token) continue;
    const double logit = found->logit;
    found->logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
}

TokenId Sampler::sample(std::span<const float> logits) {
  collect(logits);
  if (options_.repeat_penalty != 1) lower_repeated();
  if (options_.temperature == 0) return std::ranges::min_element(candidates_, is_before)->id;
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

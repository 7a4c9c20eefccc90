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

struct Candidate {
  double logit = 0;
  TokenId id = 0;
};

bool is_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// Tokens that may be drawn. They are in the order of ids, or from the highest logit down; sorting
/// a whole vocabulary would take longer than many models do, so only as many are sorted as needed.
class Candidates {
 public:
  /// @pre there are some, in the order of ids, with finite logits
  explicit Candidates(std::vector<Candidate> candidates)
      : all_(std::move(candidates)),
        highest_(std::ranges::max(all_, {}, &Candidate::logit).logit) {}

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
        all_, [&](const Candidate& each) { return each.logit < least && each.logit < highest_; });
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
  [[nodiscard]] double weight(const Candidate& candidate, double temperature) const {
    return elementary::exp((candidate.logit - highest_) / temperature);
  }
  /// The index, from the highest logit down, at which the sum of probabilities is `share` or more.
  std::size_t first_of_sum(double temperature, double share) {
    // In the order of ids if nothing was sorted: an order that no library chooses.
    double total = 0;
    for (const Candidate& each : all_) total += weight(each, temperature);
    double sum = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      sort_first(i + 1);
      sum += weight(all_[i], temperature);
      if (sum >= share * total && sum > 0) return i;
    }
    return all_.size() - 1;
  }
  /// Puts the `count` highest in order, and more in advance.
  void sort_first(std::size_t count) {
    if (count <= sorted_) return;
    const std::size_t end =
        std::min(all_.size(), std::max(count, std::max<std::size_t>(128, 4 * sorted_)));
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::partial_sort(from, all_.begin() + static_cast<std::ptrdiff_t>(end), all_.end(), is_before);
    sorted_ = end;
  }

  std::vector<Candidate> all_;
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
  check_option(is_from(options.top_p, 0) && options.top_p > 0, "top-p", "above 0", options.top_p);
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

TokenId Sampler::sample(std::span<const float> logits) {
  std::vector<Candidate> all(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity()) {
      fail(ErrorKind::kFormat, "logit of token " + std::to_string(i) +
                                   ": expected a number, found " + number_text(logits[i]) +
                                   "; the model is broken");
    }
    all[i] = {logits[i], static_cast<TokenId>(i)};
  }
  if (options_.repeat_penalty != 1) {
    std::vector<TokenId> repeated(last_.begin(), last_.end());
    std::ranges::sort(repeated);
    repeated.erase(std::ranges::unique(repeated).begin(), repeated.end());
    for (const TokenId token : repeated) {
      if (token < 0 || static_cast<std::size_t>(token) >= all.size()) continue;
      double& logit = all[static_cast<std::size_t>(token)].logit;
      logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    }
  }
  std::erase_if(all, [](const Candidate& each) { return !std::isfinite(each.logit); });
  if (all.empty())
    fail(ErrorKind::kFormat, "logits: expected a number, found none; the model is broken");
  if (options_.temperature == 0) return std::ranges::min_element(all, is_before)->id;
  Candidates candidates(std::move(all));
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

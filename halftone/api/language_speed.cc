// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_speed.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "halftone/api/elapsed.h"
#include "halftone/api/language_ranks.h"
#include "halftone/api/memory_speed.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/random.h"

namespace halftone {
namespace {

constexpr std::size_t kRuns = 3;

class Meter {
 public:
  Meter(TextModel& model, std::uint64_t seed)
      : model_(model.model()),
        num_tokens_(std::min(model_.vocabulary(), model.tokenizer().vocabulary().size())),
        random_(seed) {}

  /// Fills the sequence.
  void read(std::size_t depth) {
    model_.truncate(0, 0);
    if (depth > 0) append(depth);
  }
  double prompt_speed(std::size_t depth, std::size_t count) {
    return speed(depth, count, [&] { append(count); });
  }
  double speed_one_by_one(std::size_t depth, std::size_t count) {
    return speed(depth, count, [&] {
      for (std::size_t i = 0; i < count; ++i) append(1);
    });
  }

 private:
  void append(std::size_t count) {
    std::vector<lm::TokenId> tokens(count);
    for (lm::TokenId& token : tokens) token = static_cast<lm::TokenId>(random_.below(num_tokens_));
    (void)model_.append(0, tokens, false);
  }
  template <typename Body>
  double speed(std::size_t depth, std::size_t count, const Body& body) {
    if (count == 0) return 0;
    std::array<double, kRuns> seconds{};
    for (double& each : seconds) {
      model_.truncate(0, depth);
      const Elapsed elapsed;
      body();
      each = elapsed.seconds();
    }
    std::ranges::sort(seconds);
    const double median = seconds[kRuns / 2];
    return median > 0 ? static_cast<double>(count) / median : 0;
  }

  lm::TokenModel& model_;
  std::size_t num_tokens_;
  Random random_;
};

void check_speed_options(const TextModel& model, std::size_t context,
                         const v0::LanguageSpeedOptions& options) {
  if (options.depths.empty() || (options.prompt == 0 && options.generate == 0)) {
    fail(ErrorKind::kUsage,
         "expected a depth and tokens to read or to write, found nothing to measure");
  }
  check_links(options);
  if (context_for(options) > context) {
    fail(ErrorKind::kUsage, model.name() + ": expected at most " + std::to_string(context) +
                                " tokens, which is the context, found " +
                                std::to_string(context_for(options)) +
                                " with those in front of them");
  }
}

}  // namespace

std::size_t context_for(const v0::LanguageSpeedOptions& options) {
  const std::size_t depth = options.depths.empty() ? 0 : std::ranges::max(options.depths);
  return depth + std::max(options.prompt, options.generate);
}

LanguageSpeed measure_language_speed(TextModel& model, const LanguageSpeedSettings& options) {
  check_speed_options(model, model.model().context(), options);
  LanguageSpeed speed{
      num_threads(), options.prompt, options.generate, memory_bytes_per_second(), {}};
  Meter meter(model, options.seed);
  for (const std::size_t depth : options.depths) {
    if (options.progress) {
      options.progress(
          static_cast<double>(speed.depths.size()) / static_cast<double>(options.depths.size()),
          "depth " + std::to_string(depth));
    }
    meter.read(depth);
    SpeedAtDepth found{depth, meter.prompt_speed(depth, options.prompt),
                       meter.speed_one_by_one(depth, options.generate)};
    // On average, half of what is written is read again.
    found.bytes_per_token =
        options.generate == 0 ? 0 : model.model().bytes_per_token(depth + options.generate / 2);
    found.bandwidth_share = static_cast<double>(found.bytes_per_token) * found.tokens_per_second /
                            speed.memory_bytes_per_second;
    speed.depths.push_back(found);
  }
  speed.ranks = predict_ranks(model.model(), options);
  return speed;
}

}  // namespace halftone

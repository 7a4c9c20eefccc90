// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_ranks.h"

#include <algorithm>
#include <bit>
#include <string>

#include "halftone/base/error.h"
#include "halftone/spmd/cost.h"

namespace halftone {
namespace {

/// As MPI libraries do, an exchange takes the better of two algorithms.
double exchange_seconds(const spmd::Link& link, std::size_t ranks, double bytes) {
  using spmd::CollectiveAlgorithm;
  return std::min(link.seconds(spmd::all_gather_path(CollectiveAlgorithm::kRing, ranks, bytes)),
                  link.seconds(spmd::all_gather_path(CollectiveAlgorithm::kHalving, ranks, bytes)));
}

double message_seconds(const spmd::Link& link, std::size_t ranks, const lm::RankCosts& costs) {
  double seconds = 0;
  for (const double bytes : costs.exchanged_bytes) {
    seconds += exchange_seconds(link, ranks, bytes);
  }
  // The first rank tells the others to run the body and the head, along a tree.
  constexpr double kOrders = 2;
  constexpr double kOrderBytes = 256;
  const auto levels = static_cast<double>(std::bit_width(ranks - 1));
  return seconds + kOrders * link.seconds({levels, levels * kOrderBytes, 0});
}

std::vector<lm::TimedStep> steps_of(lm::TokenModel& model) {
  constexpr std::size_t kTokens = 48;
  constexpr lm::TokenId kAnyToken = 1;
  model.truncate(0, 0);
  const std::vector<lm::TokenId> tokens(std::min(kTokens, model.context()), kAnyToken);
  std::vector<lm::TimedStep> steps = model.time_steps(0, tokens);
  model.truncate(0, 0);
  return steps;
}

}  // namespace

void check_links(const v0::LanguageSpeedOptions& options) {
  if (options.links.size() == options.latencies.size()) return;
  fail(ErrorKind::kUsage, "latencies: expected one for each of " +
                              std::to_string(options.links.size()) + " links, found " +
                              std::to_string(options.latencies.size()));
}

std::vector<v0::SpeedOnRanks> predict_ranks(lm::TokenModel& model,
                                            const v0::LanguageSpeedOptions& options) {
  check_links(options);
  std::vector<v0::SpeedOnRanks> found;
  if (options.ranks.empty()) return found;
  const std::vector<lm::TimedStep> steps = steps_of(model);
  double alone = 0;
  for (const lm::TimedStep& step : steps) alone += step.seconds;
  for (const std::size_t ranks : options.ranks) {
    const std::optional<lm::RankCosts> costs = model.costs_on_ranks(ranks);
    if (!costs || steps.empty()) {
      fail(ErrorKind::kUnsupported,
           "ranks: are predicted from one process that runs the model on its processor");
    }
    double part = 0;
    for (const lm::TimedStep& step : steps) {
      const auto share = costs->shares.find(step.name);
      part += step.seconds * (share == costs->shares.end() ? 1 : share->second);
    }
    for (std::size_t i = 0; i < options.links.size(); ++i) {
      const spmd::Link link{options.latencies[i] * 1e-6, 8e-9 / options.links[i], 0};
      const double messages = message_seconds(link, ranks, *costs);
      const double seconds = part + messages;
      found.push_back({ranks, options.links[i], options.latencies[i], 1 / seconds, alone / seconds,
                       messages / seconds, static_cast<std::size_t>(costs->matrix_bytes)});
    }
  }
  return found;
}

}  // namespace halftone

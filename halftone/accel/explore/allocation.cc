// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/allocation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/budget/nondominated.h"

namespace halftone::accel {
namespace {

Criteria added(const Criteria& a, const Criteria& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

/// Layers that take the same option, as one layer.
struct TiedLayers {
  std::vector<std::size_t> members;
  std::vector<Criteria> options;
};

void check_options(const std::vector<Criteria>& options, std::size_t layer) {
  const std::string where = "layer " + std::to_string(layer);
  if (options.empty() || options.size() > std::numeric_limits<std::uint16_t>::max()) {
    fail(ErrorKind::kUsage,
         where + ": expected 1 to 65,535 options, found " + std::to_string(options.size()));
  }
  for (const Criteria& each : options) {
    if (std::ranges::any_of(each, [](double value) { return std::isnan(value); })) {
      fail(ErrorKind::kUsage, where + ": expected numbers as criteria, found NaN");
    }
  }
}

std::vector<TiedLayers> tied_layers(const AllocationProblem& problem) {
  std::vector<TiedLayers> result;
  std::map<std::size_t, std::size_t> index_of;
  for (std::size_t layer = 0; layer < problem.layers.size(); ++layer) {
    const std::vector<Criteria>& options = problem.layers[layer];
    check_options(options, layer);
    const std::size_t tie = problem.ties.empty() ? layer : problem.ties[layer];
    const auto [found, is_new] = index_of.try_emplace(tie, result.size());
    if (is_new) {
      result.push_back({{layer}, options});
      continue;
    }
    TiedLayers& group = result[found->second];
    if (group.options.size() != options.size()) {
      fail(ErrorKind::kUsage,
           "layers " + std::to_string(group.members.front()) + " and " + std::to_string(layer) +
               " are tied: expected equal numbers of options, found " +
               std::to_string(group.options.size()) + " and " + std::to_string(options.size()));
    }
    group.members.push_back(layer);
    for (std::size_t i = 0; i < options.size(); ++i) {
      group.options[i] = added(group.options[i], options[i]);
    }
  }
  return result;
}

/// The least that all layers from one on add to each criterion.
std::vector<Criteria> least_of_rest(const std::vector<TiedLayers>& layers) {
  std::vector<Criteria> rest(layers.size() + 1);
  for (std::size_t i = layers.size(); i-- > 0;) {
    Criteria smallest = layers[i].options.front();
    for (const Criteria& each : layers[i].options) {
      for (std::size_t c = 0; c < kMaxCriteria; ++c) smallest[c] = std::min(smallest[c], each[c]);
    }
    rest[i] = added(smallest, rest[i + 1]);
  }
  return rest;
}

/// Sums of different order differ by rounding, so only what exceeds a limit by more is dropped.
bool may_stay_within(const Criteria& sums, const Criteria& rest, const Criteria& limits) {
  constexpr double kSlack = 1e-12;
  for (std::size_t c = 0; c < kMaxCriteria; ++c) {
    const double sum = sums[c] + rest[c];
    const double slack = kSlack * (std::abs(sums[c]) + std::abs(rest[c]));
    // An infinite sum minus its slack is NaN, which is within no limit.
    if (sum > limits[c] && !(sum - slack <= limits[c])) return false;
  }
  return true;
}

bool is_within(const Criteria& sums, const Criteria& limits) {
  for (std::size_t c = 0; c < kMaxCriteria; ++c) {
    if (sums[c] > limits[c]) return false;
  }
  return true;
}

/// A sum over the first layers.
struct Step {
  std::uint32_t before;  ///< index among the sums over one layer less
  std::uint16_t option;
};

struct Stage {
  std::vector<Criteria> sums;
  std::vector<Step> steps;
};

Stage extended(const std::vector<Criteria>& sums, const TiedLayers& layer, const Criteria& rest,
               const Criteria& limits) {
  Stage all;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t option = 0; option < layer.options.size(); ++option) {
      const Criteria sum = added(sums[i], layer.options[option]);
      if (!may_stay_within(sum, rest, limits)) continue;
      all.sums.push_back(sum);
      all.steps.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint16_t>(option)});
    }
  }
  Stage kept;
  for (const std::size_t i : compress::nondominated(all.sums)) {
    kept.sums.push_back(all.sums[i]);
    kept.steps.push_back(all.steps[i]);
  }
  return kept;
}

}  // namespace

std::vector<Allocation> pareto_front(const AllocationProblem& problem) {
  const std::vector<TiedLayers> layers = tied_layers(problem);
  const std::vector<Criteria> rest = least_of_rest(layers);
  std::vector<Criteria> sums = {Criteria{}};
  std::vector<std::vector<Step>> steps;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Stage stage = extended(sums, layers[i], rest[i + 1], problem.limits);
    sums = std::move(stage.sums);
    steps.push_back(std::move(stage.steps));
  }
  std::vector<Allocation> front;
  for (std::size_t last = 0; last < sums.size(); ++last) {
    if (!is_within(sums[last], problem.limits)) continue;
    Allocation allocation{sums[last], std::vector<std::uint16_t>(problem.layers.size())};
    std::size_t at = last;
    for (std::size_t i = layers.size(); i-- > 0;) {
      for (const std::size_t member : layers[i].members) {
        allocation.options[member] = steps[i][at].option;
      }
      at = steps[i][at].before;
    }
    front.push_back(std::move(allocation));
  }
  return front;
}

}  // namespace halftone::accel

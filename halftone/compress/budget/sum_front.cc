// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/budget/sum_front.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/budget/nondominated.h"

namespace halftone::compress {
namespace {

Criteria added(const Criteria& a, const Criteria& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

void check_criteria(const std::vector<Criteria>& choices, std::size_t index) {
  const std::string where = "item " + std::to_string(index);
  if (choices.empty() || choices.size() > std::numeric_limits<std::uint16_t>::max()) {
    fail(ErrorKind::kUsage,
         where + ": expected 1 to 65,535 choices, found " + std::to_string(choices.size()));
  }
  for (const Criteria& each : choices) {
    if (std::ranges::any_of(each, [](double value) { return std::isnan(value); })) {
      fail(ErrorKind::kUsage, where + ": expected numbers as criteria, found NaN");
    }
  }
}

/// The least that all items from one on add to each criterion.
std::vector<Criteria> least_of_rest(const std::vector<std::vector<Criteria>>& items) {
  std::vector<Criteria> rest(items.size() + 1);
  for (std::size_t i = items.size(); i-- > 0;) {
    Criteria smallest = items[i].front();
    for (const Criteria& each : items[i]) {
      for (std::size_t c = 0; c < each.size(); ++c) smallest[c] = std::min(smallest[c], each[c]);
    }
    rest[i] = added(smallest, rest[i + 1]);
  }
  return rest;
}

/// Sums of different order differ by rounding, so only what exceeds a limit by more is dropped.
bool may_stay_within(const Criteria& sums, const Criteria& rest, const Criteria& limits) {
  constexpr double kSlack = 1e-12;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const double sum = sums[c] + rest[c];
    const double slack = kSlack * (std::abs(sums[c]) + std::abs(rest[c]));
    // An infinite sum minus its slack is NaN, which is within no limit.
    if (sum > limits[c] && !(sum - slack <= limits[c])) return false;
  }
  return true;
}

bool is_within(const Criteria& sums, const Criteria& limits) {
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (sums[c] > limits[c]) return false;
  }
  return true;
}

/// A sum over the first items.
struct Step {
  std::uint32_t before;  ///< index among the sums over one item less
  std::uint16_t choice;
};

struct Stage {
  std::vector<Criteria> sums;
  std::vector<Step> steps;
};

Stage extended(const std::vector<Criteria>& sums, const std::vector<Criteria>& choices,
               const Criteria& rest, const Criteria& limits) {
  Stage all;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t choice = 0; choice < choices.size(); ++choice) {
      const Criteria sum = added(sums[i], choices[choice]);
      if (!may_stay_within(sum, rest, limits)) continue;
      all.sums.push_back(sum);
      all.steps.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint16_t>(choice)});
    }
  }
  Stage kept;
  for (const std::size_t i : nondominated(all.sums)) {
    kept.sums.push_back(all.sums[i]);
    kept.steps.push_back(all.steps[i]);
  }
  return kept;
}

}  // namespace

std::vector<FrontSum> sum_front(const FrontProblem& problem) {
  const std::vector<std::vector<Criteria>>& items = problem.items;
  for (std::size_t i = 0; i < items.size(); ++i) check_criteria(items[i], i);
  const std::vector<Criteria> rest = least_of_rest(items);
  std::vector<Criteria> sums = {Criteria{}};
  std::vector<std::vector<Step>> steps;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Stage stage = extended(sums, items[i], rest[i + 1], problem.limits);
    sums = std::move(stage.sums);
    steps.push_back(std::move(stage.steps));
  }
  std::vector<FrontSum> front;
  for (std::size_t last = 0; last < sums.size(); ++last) {
    if (!is_within(sums[last], problem.limits)) continue;
    FrontSum found{sums[last], std::vector<std::uint16_t>(items.size())};
    std::size_t at = last;
    for (std::size_t i = items.size(); i-- > 0;) {
      found.choices[i] = steps[i][at].choice;
      at = steps[i][at].before;
    }
    front.push_back(std::move(found));
  }
  return front;
}

}  // namespace halftone::compress

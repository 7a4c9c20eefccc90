// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/budget/allocation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/budget/knapsack.h"

namespace halftone::compress {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Numbers in a knapsack are whole multiples of these.
double unit_of(Measure measure, double limit) {
  return measure == Measure::kLoss ? limit * 0x1p-32 : measure == Measure::kTime ? 1e-3 : 1;
}

/// Whether a measure was measured.
bool is_known(const Sensitivity& costs, Measure measure) {
  const ChoiceSensitivity& any = costs.choices.front();
  return measure == Measure::kTime           ? any.us.has_value()
         : measure == Measure::kEnergy       ? any.pj.has_value()
         : measure == Measure::kInstructions ? any.instructions.has_value()
                                             : true;
}

double layer_value(const LayerSensitivity& layer, Measure measure) {
  return measure == Measure::kLoss     ? layer.weighted_error
         : measure == Measure::kTime   ? layer.us.value_or(0)
         : measure == Measure::kEnergy ? layer.pj.value_or(0)
                                       : layer.instructions.value_or(0);
}

/// Infinite where a unit does not have a choice.
double value_of(const Sensitivity& costs, const Corrections& corrections, Measure measure,
                std::size_t unit, std::size_t choice) {
  const ChoiceSensitivity& chosen = costs.choices[choice];
  if (!chosen.units[unit].is_possible) return kInfinite;
  double sum = 0;
  if (measure == Measure::kBytes) {
    sum = static_cast<double>(chosen.units[unit].bytes);
  } else {
    for (const std::size_t layer : costs.units[unit].layers) {
      sum += layer_value(chosen.layers[layer], measure);
    }
  }
  return corrections.factor[measure] * sum;
}

std::string number(double value) {
  std::ostringstream text;
  text.precision(4);
  if (value >= 1e4) {
    text << std::llround(value);
  } else {
    text << value;
  }
  return text.str();
}

void check_limits(const Sensitivity& costs, const Budget& budget) {
  int count = 0;
  for (const Measure measure : kMeasures) {
    if (!budget[measure]) continue;
    ++count;
    if (!(*budget[measure] > 0) || !std::isfinite(*budget[measure])) {
      fail(ErrorKind::kUsage, "budget " + std::string(to_string(measure)) +
                                  ": expected a number above 0, found " + number(*budget[measure]));
    }
    if (!is_known(costs, measure)) {
      fail(ErrorKind::kUsage,
           "budget " + std::string(to_string(measure)) + ": nothing has measured or estimated it");
    }
  }
  if (count < 1 || count > 2) {
    fail(ErrorKind::kUsage, "budget: expected one limit or two, found " + std::to_string(count));
  }
  const Measure objective = objective_of(budget);
  if (!is_known(costs, objective)) {
    fail(ErrorKind::kUsage, "budget: the least " + std::string(to_string(objective)) +
                                " is looked for, but nothing has measured or estimated it");
  }
  const bool may_change = std::ranges::any_of(costs.units, &SensitiveUnit::may_change);
  if (!may_change) {
    fail(ErrorKind::kUnsupported,
         "budget: no layer may change: the recipe fixes all of them, or all choices are the same");
  }
}

/// The least that all units together can have.
double least(const Sensitivity& costs, const Corrections& corrections, Measure measure) {
  double sum = corrections.offset[measure];
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    double low = value_of(costs, corrections, measure, u, 0);
    for (std::size_t c = 1; c < costs.choices.size(); ++c) {
      low = std::min(low, value_of(costs, corrections, measure, u, c));
    }
    sum += low;
  }
  return sum;
}

/// @throws Error kUnsupported if a limit is below the least
void check_reachable(const Sensitivity& costs, const Budget& budget,
                     const Corrections& corrections) {
  for (const Measure measure : kMeasures) {
    const std::optional<double> limit = budget[measure];
    const double low = limit ? least(costs, corrections, measure) : 0;
    if (!limit || low <= *limit) continue;
    fail(ErrorKind::kUnsupported,
         "budget " + std::string(to_string(measure)) + "=" + number(*limit) +
             " cannot be met with these choices: the least is " + number(low));
  }
}

/// A number as a size: whole, and 0 for the least of its unit, so that it may be negative.
std::int64_t size_in(double above_least, double unit) {
  constexpr double kMax = 1e15;  // far above a limit; sums of them stay below 2^62
  return static_cast<std::int64_t>(std::min(kMax, std::ceil(above_least / unit - 1e-9)));
}

/// The choices that a unit has.
std::vector<std::size_t> choices_of(const Sensitivity& costs, std::size_t unit) {
  std::vector<std::size_t> choices;
  for (std::size_t c = 0; c < costs.choices.size(); ++c) {
    if (costs.choices[c].units[unit].is_possible) choices.push_back(c);
  }
  return choices;
}

/// Its items have choices_of() their unit, in this order.
KnapsackProblem problem_of(const Sensitivity& costs, const Budget& budget,
                           const Corrections& corrections) {
  KnapsackProblem problem;
  const Measure objective = objective_of(budget);
  std::vector<Measure> limited;
  for (const Measure measure : kMeasures) {
    if (budget[measure]) limited.push_back(measure);
  }
  const auto unit = [&](Measure measure) { return unit_of(measure, *budget[measure]); };
  for (std::size_t k = 0; k < limited.size(); ++k) {
    const double left = *budget[limited[k]] - least(costs, corrections, limited[k]);
    problem.budgets[k] = static_cast<std::int64_t>(left / unit(limited[k]));
  }
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    const std::vector<std::size_t> choices = choices_of(costs, u);
    std::vector<KnapsackChoice> item(choices.size());
    for (std::size_t c = 0; c < item.size(); ++c) {
      item[c].cost = value_of(costs, corrections, objective, u, choices[c]);
    }
    for (std::size_t k = 0; k < limited.size(); ++k) {
      std::vector<double> values;
      for (const std::size_t choice : choices) {
        values.push_back(value_of(costs, corrections, limited[k], u, choice));
      }
      const double low = *std::ranges::min_element(values);
      for (std::size_t c = 0; c < item.size(); ++c) {
        item[c].sizes[k] = size_in(values[c] - low, unit(limited[k]));
      }
    }
    problem.items.push_back(std::move(item));
  }
  return problem;
}

}  // namespace

std::string_view to_string(Measure measure) {
  constexpr std::array<std::string_view, kMeasures.size()> kNames = {"loss", "bytes", "us", "pj",
                                                                     "instructions"};
  return kNames[static_cast<std::size_t>(measure)];
}

Measure objective_of(const Budget& budget) {
  return *std::ranges::find_if(kMeasures, [&](Measure measure) { return !budget[measure]; });
}

v0::NetworkCosts known_costs(const Sensitivity& costs, const PerMeasure<double>& values) {
  v0::NetworkCosts known{values[Measure::kLoss], values[Measure::kBytes], {}, {}, {}};
  if (is_known(costs, Measure::kTime)) known.us = values[Measure::kTime];
  if (is_known(costs, Measure::kEnergy)) known.pj = values[Measure::kEnergy];
  if (is_known(costs, Measure::kInstructions)) {
    known.instructions = values[Measure::kInstructions];
  }
  return known;
}

void check_budget(const Sensitivity& costs, const Budget& budget, const Corrections& corrections) {
  check_limits(costs, budget);
  check_reachable(costs, budget, corrections);
}

Allocation predicted(const Sensitivity& costs, std::vector<std::size_t> choices,
                     const Corrections& corrections) {
  Allocation result{std::move(choices)};
  for (const Measure measure : kMeasures) {
    if (!is_known(costs, measure)) continue;
    double& total = result.values[measure];
    total = corrections.offset[measure];
    for (std::size_t u = 0; u < result.choices.size(); ++u) {
      total += value_of(costs, corrections, measure, u, result.choices[u]);
    }
  }
  return result;
}

Allocation allocate(const Sensitivity& costs, const Budget& budget,
                    const Corrections& corrections) {
  check_budget(costs, budget, corrections);
  KnapsackAnswer answer;
  try {
    answer = solve_knapsack(problem_of(costs, budget, corrections));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    fail(ErrorKind::kUnsupported,
         "budget: each limit can be met, but not both at once with these choices");
  }
  for (std::size_t u = 0; u < answer.choices.size(); ++u) {
    answer.choices[u] = choices_of(costs, u)[answer.choices[u]];
  }
  Allocation result = predicted(costs, std::move(answer.choices), corrections);
  result.is_optimal = answer.is_optimal;
  return result;
}

std::vector<Allocation> pareto_front(const Sensitivity& costs, const Corrections& corrections,
                                     Measure size, std::size_t count) {
  const double low = least(costs, corrections, size);
  double high = corrections.offset[size];
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    // What has the least loss, the smallest of those.
    std::pair<double, double> best{kInfinite, 0};
    for (std::size_t c = 0; c < costs.choices.size(); ++c) {
      best = std::min(best, {value_of(costs, corrections, Measure::kLoss, u, c),
                             value_of(costs, corrections, size, u, c)});
    }
    high += best.second;
  }
  std::vector<Allocation> front;
  for (std::size_t i = 0; i < count; ++i) {
    const double steps = static_cast<double>(std::max<std::size_t>(count - 1, 1));
    Budget budget;
    budget[size] = i + 1 == count ? high : low + static_cast<double>(i) / steps * (high - low);
    Allocation next = allocate(costs, budget, corrections);
    const bool is_new =
        front.empty() || next.values[Measure::kLoss] < front.back().values[Measure::kLoss];
    if (is_new) front.push_back(std::move(next));
  }
  return front;
}

}  // namespace halftone::compress

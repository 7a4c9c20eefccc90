// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "halftone/report/explore.h"
#include "halftone/report/svg/picture.h"
#include "halftone/report/svg/plot.h"

namespace halftone::report {
namespace {

/// The objective in microseconds, microjoules or their product.
double scaled(const accel::Design& design, accel::Objective kind) {
  return accel::objective_of(design, kind) * (kind == accel::Objective::kEdp ? 1e12 : 1e6);
}

std::string objective_label(accel::Objective kind) {
  switch (kind) {
    case accel::Objective::kTime:
      return "time in us";
    case accel::Objective::kEnergy:
      return "energy in uJ";
    case accel::Objective::kEdp:
      break;
  }
  return "energy times time in uJ us";
}

/// Designs with a predicted drop of at most four times the budget; all if there is none.
std::vector<const accel::Design*> useful_designs(const ExploreReport& report) {
  std::vector<const accel::Design*> list;
  for (const accel::Design& each : report.search.front) {
    if (each.drop <= 4 * report.options.budget.accuracy_drop) list.push_back(&each);
  }
  if (!list.empty()) return list;
  for (const accel::Design& each : report.search.front) list.push_back(&each);
  return list;
}

}  // namespace

std::string front_svg(const ExploreReport& report) {
  const accel::Objective kind = report.options.objective;
  const double budget = 100 * report.options.budget.accuracy_drop;
  svg::Series predicted{"predicted", {}, false};
  double largest = 0;
  for (const accel::Design* each : useful_designs(report)) {
    predicted.points.push_back(
        {scaled(*each, kind), 100 * each->drop, fmt::format("{:.3g} mm2", each->area_mm2)});
    largest = std::max(largest, predicted.points.back().x);
  }
  svg::Series verified{"measured", {}, false};
  svg::Series chosen{"chosen", {}, false};
  for (std::size_t i = 0; i < report.verified.size(); ++i) {
    const VerifiedDesign& each = report.verified[i];
    const bool is_chosen = i == report.chosen;
    (is_chosen ? chosen : verified)
        .points.push_back({scaled(each.design, kind), 100 * each.measured_drop,
                           is_chosen ? "chosen" : "measured", true, is_chosen ? "chosen" : ""});
    largest = std::max(largest, scaled(each.design, kind));
  }
  svg::Series limit{"budget", {{0, budget, ""}, {largest, budget, ""}}};
  limit.has_dots = false;
  return svg::file_of(svg::plot(
      {"Front of " + report.network,
       objective_label(kind),
       "drop of accuracy in percent",
       {std::move(predicted), std::move(verified), std::move(limit), std::move(chosen)}}));
}

}  // namespace halftone::report

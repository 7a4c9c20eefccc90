// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "halftone/report/explore.h"
#include "halftone/report/svg.h"

namespace halftone::report {
namespace {

// In pixels.
constexpr double kFrontWidth = 760;
constexpr double kFrontHeight = 480;
constexpr double kFrontLeft = 90;
constexpr double kFrontRight = 730;
constexpr double kFrontTop = 50;
constexpr double kFrontBottom = 420;

std::string front_axes(const svg::Axis& x, const svg::Axis& y, const std::string& objective) {
  std::string picture;
  for (const double tick : x.ticks) {
    const double at = x.place(tick);
    picture += svg::rule(at, y.from, at, y.to, "#eeeeee") +
               svg::text(at, y.from + 18, "middle", fmt::format("{:.4g}", tick));
  }
  for (const double tick : y.ticks) {
    const double at = y.place(tick);
    picture += svg::rule(x.from, at, x.to, at, "#eeeeee") +
               svg::text(x.from - 8, at + 4, "end", fmt::format("{:.4g}", tick));
  }
  return picture + svg::text((x.from + x.to) / 2, y.from + 40, "middle", objective) +
         svg::text(x.from - 60, y.to - 12, "start", "drop of accuracy in percent");
}

/// The objective in microseconds, microjoules or their product.
double scaled(const accel::Design& design, accel::Objective kind) {
  return design.objective(kind) * (kind == accel::Objective::kEdp ? 1e12 : 1e6);
}

/// The largest objective, and the range of drops in percent.
struct Extents {
  double objective = 0;
  double low = 0;
  double high = 0;
};

Extents extents_of(const ExploreReport& report, const std::vector<const accel::Design*>& designs) {
  const accel::Objective kind = report.options.objective;
  Extents result{0, 0, 100 * report.options.budget.accuracy_drop};
  for (const accel::Design* each : designs) {
    result.objective = std::max(result.objective, scaled(*each, kind));
    result.high = std::max(result.high, 100 * each->drop);
  }
  for (const VerifiedDesign& each : report.verified) {
    result.objective = std::max(result.objective, scaled(each.design, kind));
    result.low = std::min(result.low, 100 * each.measured.drop);
    result.high = std::max(result.high, 100 * each.measured.drop);
  }
  return result;
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

std::string circle(double x, double y, const char* style, const std::string& title) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" {}><title>{}</title></circle>\n", x, y,
                     style, svg::escaped(title));
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
  const std::vector<const accel::Design*> designs = useful_designs(report);
  const Extents extents = extents_of(report, designs);
  const svg::Axis x{svg::ticks(0, extents.objective, 8), kFrontLeft, kFrontRight};
  const svg::Axis y{svg::ticks(extents.low, extents.high, 8), kFrontBottom, kFrontTop};
  const double budget = y.place(100 * report.options.budget.accuracy_drop);
  std::string picture = svg::text(kFrontLeft, 20, "start",
                                  fmt::format("{}: dots predicted, rings measured; the red line "
                                              "is the budget",
                                              report.network));
  picture += front_axes(x, y, objective_label(kind)) +
             svg::rule(kFrontLeft, budget, kFrontRight, budget, "#d62728");
  for (const accel::Design* each : designs) {
    picture += circle(x.place(scaled(*each, kind)), y.place(100 * each->drop),
                      "r=\"2\" fill=\"#1f77b4\"", fmt::format("{:.3g} mm2", each->area_mm2));
  }
  for (std::size_t i = 0; i < report.verified.size(); ++i) {
    const VerifiedDesign& each = report.verified[i];
    const char* style = i == report.chosen
                            ? "r=\"6\" fill=\"none\" stroke=\"#d62728\" stroke-width=\"2\""
                            : "r=\"5\" fill=\"none\" stroke=\"#222222\"";
    picture += circle(x.place(scaled(each.design, kind)), y.place(100 * each.measured.drop), style,
                      i == report.chosen ? "chosen" : "verified");
  }
  return svg::document(kFrontWidth, kFrontHeight, picture);
}

}  // namespace halftone::report

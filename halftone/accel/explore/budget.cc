// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "halftone/accel/explore/explore.h"
#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

double amount(std::string_view text, const std::string& entry) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !std::isfinite(value) || value < 0) {
    fail(ErrorKind::kUsage, "budget '" + entry + "': expected a number of at least 0");
  }
  return value;
}

void read_limit(const std::string& entry, Budget& budget) {
  const std::size_t equals = entry.find('=');
  const std::string name = entry.substr(0, equals);
  const double value =
      equals == std::string::npos ? 0 : amount(std::string_view(entry).substr(equals + 1), entry);
  if (equals != std::string::npos) {
    if (name == "accuracy-drop") {
      budget.accuracy_drop = value;
      return;
    }
    for (const auto& [known, limit] :
         {std::pair{"area", &budget.area_mm2}, std::pair{"time", &budget.seconds},
          std::pair{"energy", &budget.energy_j}}) {
      if (name == known) {
        *limit = value;
        return;
      }
    }
  }
  fail(ErrorKind::kUsage, "budget '" + entry +
                              "': expected area=MM2, accuracy-drop=FRACTION, time=SECONDS or "
                              "energy=JOULES");
}

}  // namespace

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::kTime:
      return "time";
    case Objective::kEnergy:
      return "energy";
    case Objective::kEdp:
      break;
  }
  return "edp";
}

Objective objective_named(std::string_view name) {
  for (const Objective each : {Objective::kTime, Objective::kEnergy, Objective::kEdp}) {
    if (to_string(each) == name) return each;
  }
  fail(ErrorKind::kUsage, "expected one of time, energy, edp, found '" + std::string(name) + "'");
}

Budget parse_budget(std::string_view text) {
  Budget budget;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    read_limit(std::string(text.substr(0, comma)), budget);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return budget;
}

void check_budget(const Budget& budget) {
  for (const auto& [name, limit] :
       {std::pair{"accuracy drop", std::optional(budget.accuracy_drop)},
        std::pair{"area", budget.area_mm2}, std::pair{"time", budget.seconds},
        std::pair{"energy", budget.energy_j}}) {
    if (!limit || (std::isfinite(*limit) && *limit >= 0)) continue;
    fail(ErrorKind::kUsage, std::string("budget: ") + name +
                                ": expected a number of at least 0, found " +
                                std::to_string(*limit));
  }
}

}  // namespace halftone::accel

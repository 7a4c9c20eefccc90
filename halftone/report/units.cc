// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace halftone::report {

std::string time_text(double seconds) {
  constexpr std::array kUnits = {std::pair{1.0, "s"}, std::pair{1e-3, "ms"}, std::pair{1e-6, "us"}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= unit) return fmt::format("{:.4g} {}", seconds / unit, name);
  }
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

std::string size_change(std::uint64_t before, std::uint64_t after) {
  const auto text = [](std::uint64_t large, std::uint64_t small) {
    return fmt::format("{:.1f}x", static_cast<double>(large) /
                                      static_cast<double>(std::max<std::uint64_t>(small, 1)));
  };
  const bool grows = after > before;
  const std::string factor = grows ? text(after, before) : text(before, after);
  if (factor == "1.0x") return "as large";
  return factor + (grows ? " larger" : " smaller");
}

std::string energy_text(double joules) {
  constexpr std::array kUnits = {std::pair{1.0, "J"}, std::pair{1e-3, "mJ"}, std::pair{1e-6, "uJ"}};
  for (const auto& [unit, name] : kUnits) {
    if (joules >= unit) return fmt::format("{:.4g} {}", joules / unit, name);
  }
  return fmt::format("{:.4g} nJ", joules * 1e9);
}

std::string bits_text(double bits) { return bits == 32 ? "float" : fmt::format("{:g}", bits); }

}  // namespace halftone::report

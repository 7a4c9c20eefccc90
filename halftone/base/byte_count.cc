// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/byte_count.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace halftone {
namespace {

/// The factor of a unit in lower case; nothing if there is no such unit.
std::optional<double> factor_of(std::string_view unit) {
  constexpr std::string_view kPrefixes = "kmgt";
  if (unit.ends_with('b')) unit.remove_suffix(1);
  if (unit.empty()) return 1;
  const std::size_t power = kPrefixes.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  if (!unit.empty() && unit != "i") return std::nullopt;
  return std::pow(unit.empty() ? 1000.0 : 1024.0, static_cast<double>(power + 1));
}

}  // namespace

std::optional<double> parse_bytes(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string unit(rest, end);
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::optional<double> factor = factor_of(unit);
  return factor ? std::optional(value * *factor) : std::nullopt;
}

}  // namespace halftone

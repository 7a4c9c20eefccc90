// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/units.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace halftone::crossbar {
namespace {

/// sum_j +-a_j, + for the bits set in a code.
double signed_sum(std::span<const float> a, std::size_t code) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (code >> j & 1) != 0 ? a[j] : -a[j];
  return sum;
}

/// The levels of a cell for each code: evenly spread from the smallest sum to the largest.
std::vector<float> cell_levels(std::span<const float> a, double reach, double top) {
  constexpr double kTolerance = 1e-6;  // coefficients are rounded to float32
  std::vector<float> levels(std::size_t{1} << a.size());
  for (std::size_t code = 0; code < levels.size() && reach != 0; ++code) {
    const double level = (signed_sum(a, code) + reach) / (2 * reach) * top;
    const double whole = std::round(level);
    levels[code] = static_cast<float>(std::abs(level - whole) < kTolerance * top ? whole : level);
  }
  return levels;
}

}  // namespace

Units::Units(const CrossbarDevice& device, const Mapping& mapping, const numerics::BitPlanes& codes,
             const numerics::MatrixEncoding& encoding)
    : codes_(codes),
      slices_(mapping.slices),
      cell_bits_(device.cell_bits()),
      device_levels_(device.levels) {
  for (std::size_t unit = 0; unit < mapping.units(); ++unit) {
    const Planes planes = planes_of(unit);
    const numerics::Basis basis = encoding.basis(planes.output, 0, codes.cols);
    if (mapping.unit_columns == 2) {
      add_pair(planes, basis);
    } else {
      add_cells(planes, basis);
    }
  }
}

Units::Planes Units::planes_of(std::size_t unit) const {
  const int first = static_cast<int>(unit % slices_) * cell_bits_;
  return {unit / slices_, first, std::min(cell_bits_, codes_.bits - first)};
}

void Units::add_pair(const Planes& planes, const numerics::Basis& basis) {
  const std::size_t ones = codes_.planes.count(codes_.plane(planes.output, planes.first));
  const auto total = 2 * static_cast<std::int64_t>(ones) - static_cast<std::int64_t>(codes_.cols);
  const float scale = basis.coefficients[static_cast<std::size_t>(planes.first)];
  meanings_.push_back({scale, static_cast<float>(total), 0});
  levels_.push_back({0, 1});
}

void Units::add_cells(const Planes& planes, const numerics::Basis& basis) {
  const auto a = basis.a().subspan(static_cast<std::size_t>(planes.first),
                                   static_cast<std::size_t>(planes.count));
  double reach = 0;
  for (const float each : a) reach += std::abs(each);
  const int steps = (1 << planes.count) - 1;
  const int multiples = (device_levels_ - 1) / steps;
  const auto top = static_cast<double>(multiples * steps);
  levels_.push_back(cell_levels(a, reach, top));
  const std::size_t unit = levels_.size() - 1;
  double total = 0;
  for (std::size_t k = 0; k < codes_.cols; ++k) total += level(unit, k);
  meanings_.push_back(
      {static_cast<float>(2 * reach / top), static_cast<float>(total), static_cast<float>(-reach)});
}

bool Units::are_whole() const {
  return std::ranges::all_of(levels_, [](const std::vector<float>& levels) {
    return std::ranges::all_of(levels, [](float level) { return level == std::round(level); });
  });
}

float Units::level(std::size_t unit, std::size_t input) const {
  const Planes planes = planes_of(unit);
  std::size_t code = 0;
  for (int j = 0; j < planes.count; ++j) {
    const bool bit = codes_.planes.test(codes_.plane(planes.output, planes.first + j), input);
    code |= static_cast<std::size_t>(bit) << static_cast<unsigned>(j);
  }
  return levels_[unit][code];
}

}  // namespace halftone::crossbar

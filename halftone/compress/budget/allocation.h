// SPDX-License-Identifier: Apache-2.0
// Which choice each layer or matrix gets within budgets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "halftone/types/sensitivity.hpp"

namespace halftone::compress {

using v0::ChoiceSensitivity;
using v0::LayerSensitivity;
using v0::SensitiveUnit;
using v0::Sensitivity;
using v0::UnitSensitivity;

/// What networks are compared by.
enum class Measure : std::uint8_t {
  kLoss,          ///< as Sensitivity::loss
  kBytes,         ///< of the file
  kTime,          ///< microseconds for a sample
  kEnergy,        ///< picojoules for a sample
  kInstructions,  ///< of the C program for a sample
};
inline constexpr std::array<Measure, 5> kMeasures = {
    Measure::kLoss, Measure::kBytes, Measure::kTime, Measure::kEnergy, Measure::kInstructions};
/// "loss", "bytes", "us", "pj", "instructions".
std::string_view to_string(Measure measure);

/// A number for each measure.
template <typename T>
class PerMeasure {
 public:
  PerMeasure() = default;
  explicit PerMeasure(T each) { values_.fill(each); }
  T& operator[](Measure measure) { return values_[static_cast<std::size_t>(measure)]; }
  const T& operator[](Measure measure) const { return values_[static_cast<std::size_t>(measure)]; }

 private:
  std::array<T, kMeasures.size()> values_{};
};

/// Limits of a network, inclusive. One or two are set.
using Budget = PerMeasure<std::optional<double>>;

/// What is least within the limits: the first measure that has none.
Measure objective_of(const Budget& budget);

/// What sums over units leave out. A network is predicted to have offset + factor sum.
struct Corrections {
  PerMeasure<double> factor{1};
  PerMeasure<double> offset{0};
};

/// A choice for each unit and what it is predicted to have: 0 of what was not measured.
struct Allocation {
  std::vector<std::size_t> choices;  ///< by unit: index in Sensitivity::choices
  PerMeasure<double> values{};
  bool is_optimal = true;
};

/// What a choice for each unit is predicted to have.
Allocation predicted(const Sensitivity& costs, std::vector<std::size_t> choices,
                     const Corrections& corrections);

/// What is known of these values: time, energy and instructions only if they were measured.
v0::NetworkCosts known_costs(const Sensitivity& costs, const PerMeasure<double>& values);

/// @throws Error kUsage unless one or two limits are set, if one is not positive, or time,
///         energy or instructions are limited but were not measured; kUnsupported if nothing may
///         change, or a limit cannot be met: what the least is
void check_budget(const Sensitivity& costs, const Budget& budget, const Corrections& corrections);

/// The best choices within a budget, exactly: solve_knapsack(). Losses count in steps of 2^-32 of a
/// limit on them, rounded up.
/// @throws Error as check_budget(); kUnsupported if each limit can be met but not both
Allocation allocate(const Sensitivity& costs, const Budget& budget, const Corrections& corrections);

/// Allocations that no other one beats in both loss and size, from the smallest to the largest:
/// those of at most `count` budgets between the two extremes, evenly spaced in size.
/// @param size  all but kLoss
std::vector<Allocation> pareto_front(const Sensitivity& costs, const Corrections& corrections,
                                     Measure size, std::size_t count);

}  // namespace halftone::compress

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/rotary_tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "halftone/base/elementary.h"

namespace halftone::lm {
namespace {

double real(std::size_t number) { return static_cast<double>(number); }

/// The base, for a context that may be longer than that of the training.
double base_of(const Description& d, const RotaryAngles& angles, std::size_t context) {
  const double factor = angles.dynamic_factor;
  if (factor == 0 || context <= d.original_context || d.rotary_dims <= 2) return angles.base;
  const double dims = real(d.rotary_dims);
  const double growth = factor * real(context) / real(d.original_context) - (factor - 1);
  return angles.base * elementary::pow(growth, dims / (dims - 2));
}

/// The divisors of all pairs; empty: 1.
std::vector<double> divisors_of(const Description& d, const RotaryAngles& angles,
                                std::size_t context) {
  const bool is_long = !angles.long_divisors.empty() && context > d.original_context;
  std::vector<double> divisors = is_long ? angles.long_divisors : angles.divisors;
  if (angles.yarn.factor == 0) return divisors;
  std::vector<double> yarn =
      yarn_divisors(angles.yarn, angles.base, d.rotary_dims, d.original_context);
  if (divisors.empty()) return yarn;
  for (std::size_t i = 0; i < yarn.size(); ++i) divisors[i] *= yarn[i];
  return divisors;
}

}  // namespace

std::vector<double> yarn_divisors(const Yarn& yarn, double base, std::size_t dims,
                                  std::size_t original_context) {
  // The pair that turns so often, as a real number.
  const auto pair_of = [&](double turns) {
    const double length = real(original_context) / (2 * std::numbers::pi * turns);
    return real(dims) * elementary::log(length) / (2 * elementary::log(base));
  };
  double low = pair_of(yarn.fast_turns);
  double high = pair_of(yarn.slow_turns);
  if (yarn.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, real(dims) - 1);
  constexpr double kLeastWidth = 0.001;
  if (low == high) high += kLeastWidth;
  std::vector<double> divisors(dims / 2);
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double ramp = std::clamp((real(i) - low) / (high - low), 0.0, 1.0);
    divisors[i] = 1 / (ramp / yarn.factor + 1 - ramp);
  }
  return divisors;
}

RotaryTables rotary_tables(const Description& description, const RotaryAngles& angles,
                           std::size_t context) {
  const std::size_t pairs = description.rotary_dims / 2;
  const std::vector<double> divisors = divisors_of(description, angles, context);
  const double base = base_of(description, angles, context);
  const bool is_window = angles != description.rotary && angles == description.window_rotary;
  const double factor = is_window ? 1 : description.rotary_factor;
  const ir::Shape shape{static_cast<ir::Dim>(context), static_cast<ir::Dim>(pairs)};
  RotaryTables tables{ir::Tensor(ir::ElementType::kFloat32, shape),
                      ir::Tensor(ir::ElementType::kFloat32, shape)};
  const auto cos = tables.cos.as<float>();
  const auto sin = tables.sin.as<float>();
  for (std::size_t i = 0; i < pairs; ++i) {
    const double turned = elementary::pow(base, 2 * real(i) / real(2 * pairs));
    const double divisor = divisors.empty() ? turned : turned * divisors[i];
    for (std::size_t position = 0; position < context; ++position) {
      const double angle = real(position) / divisor;
      cos[position * pairs + i] = static_cast<float>(factor * elementary::cos(angle));
      sin[position * pairs + i] = static_cast<float>(factor * elementary::sin(angle));
    }
  }
  return tables;
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "halftone/base/elementary.h"
#include "halftone/base/parallel.h"
#include "halftone/base/random.h"

namespace halftone::crossbar {
namespace {

/// c_0 + c_1 x + c_2 x^2 + ...
double polynomial(std::span<const double> coefficients, double x) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

constexpr double kPcmMicrosiemens = 25;
constexpr std::array kPcmProgramming = {0.26348, 1.9650, -1.1731};

constexpr double kReramMicrosiemens = 40;
constexpr double kDay = 86400;
constexpr std::array kReramOneSecond = {0.348, 16.030, -43.853, 45.393, -16.815};
constexpr std::array kReramOneDay = {0.701, 22.086, -50.773, 47.095, -16.458};
constexpr std::array kReramTwoDays = {0.782, 20.274, -43.507, 37.062, -11.934};

std::span<const double> reram_polynomial(double seconds) {
  if (seconds >= 2 * kDay) return kReramTwoDays;
  if (seconds >= kDay) return kReramOneDay;
  return kReramOneSecond;
}

/// The standard normal numbers of a cell, each from its own seed: a model that needs no second one
/// leaves the third as it is.
enum Draw : std::uint64_t { kStuck, kProgramming, kDrift, kRead };

double drifted(const CrossbarDevice& device, double conductance, double level, std::uint64_t seed) {
  if (device.drift == Drift::kNone || device.seconds <= device.drift_start_seconds) {
    return conductance;
  }
  const DriftExponent nu = drift_exponent(device, level);
  double exponent = nu.mean + nu.deviation * normal_of(derived_seed(seed, kDrift));
  exponent = device.drift == Drift::kPcm ? std::abs(exponent) : std::max(0.0, exponent);
  return conductance * elementary::pow(device.seconds / device.drift_start_seconds, -exponent);
}

}  // namespace

std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t index) {
  return Random(Random(seed).next() + index).next();
}

double normal_of(std::uint64_t seed) {
  Random random(seed);
  const double radius = std::sqrt(-2 * elementary::log(1 - random.uniform()));
  return radius * elementary::cos(2 * std::numbers::pi * random.uniform());
}

double programming_deviation(const CrossbarDevice& device, double level) {
  const double scale = device.programming_scale;
  switch (device.programming) {
    case Programming::kNone:
      return 0;
    case Programming::kConstant:
      return scale * device.programming_sigma;
    case Programming::kProportional:
      return scale * device.programming_sigma * level;
    case Programming::kPcm:
      return scale * polynomial(kPcmProgramming, level) / kPcmMicrosiemens;
    case Programming::kReram:
      return scale * polynomial(reram_polynomial(device.seconds), level) / kReramMicrosiemens;
  }
  return 0;
}

DriftExponent drift_exponent(const CrossbarDevice& device, double level) {
  if (device.drift == Drift::kNone) return {};
  if (device.drift == Drift::kPower) return {device.drift_exponent, device.drift_spread};
  constexpr double kMinLevel = 1e-7;
  const double log_level = elementary::log(std::max(level, kMinLevel));
  return {std::clamp(-0.0155 * log_level + 0.0244, 0.049, 0.1),
          std::clamp(-0.0125 * log_level - 0.0059, 0.008, 0.045)};
}

double read_deviation(const CrossbarDevice& device, double level) {
  if (device.read_noise != ReadNoise::kPcm || device.seconds <= 0) return 0;
  constexpr double kReadSeconds = 250e-9;
  const double q = std::min(0.0088 / std::max(elementary::pow(std::abs(level), 0.65), 1e-3), 0.2);
  return q * std::sqrt(elementary::log((device.seconds + kReadSeconds) / (2 * kReadSeconds)));
}

double conductance_of(const CrossbarDevice& device, double target, std::uint64_t seed) {
  const double level = target / device.on_siemens;
  double conductance = target;
  const double stuck = Random(derived_seed(seed, kStuck)).uniform();
  if (stuck < device.stuck_on + device.stuck_off) {
    conductance = stuck < device.stuck_on ? device.on_siemens : device.off_siemens;
  } else {
    if (const double deviation = programming_deviation(device, level); deviation != 0) {
      const double error = deviation * normal_of(derived_seed(seed, kProgramming));
      conductance = std::max(0.0, target + device.on_siemens * error);
    }
  }
  const double programmed = conductance / device.on_siemens;
  if (stuck >= device.stuck_on + device.stuck_off) {
    conductance = drifted(device, conductance, level, seed);
  }
  if (const double deviation = read_deviation(device, programmed); deviation != 0) {
    const double factor = 1 + deviation * normal_of(derived_seed(seed, kRead));
    conductance = std::max(0.0, conductance * factor);
  }
  return conductance;
}

std::vector<double> conductances(const CrossbarDevice& device, std::span<const double> targets,
                                 std::uint64_t seed, std::uint64_t first) {
  std::vector<double> result(targets.size());
  constexpr std::size_t kBlock = 4096;
  parallel_for((targets.size() + kBlock - 1) / kBlock, [&](std::size_t block) {
    const std::size_t end = std::min(targets.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) {
      result[i] = conductance_of(device, targets[i], derived_seed(seed, first + i));
    }
  });
  return result;
}

}  // namespace halftone::crossbar

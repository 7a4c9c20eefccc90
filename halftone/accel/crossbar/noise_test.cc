// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/noise.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"

namespace halftone::crossbar {
namespace {

constexpr std::size_t kCells = 1000000;

struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments moments_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  Moments moments;
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - moments.mean) * (v - moments.mean);
  moments.deviation = std::sqrt(squares / n);
  return moments;
}

std::vector<double> cells_at(const CrossbarDevice& device, double level, std::uint64_t seed = 1) {
  const std::vector<double> targets(kCells, level * device.on_siemens);
  return conductances(device, targets, seed);
}

/// PCM with one kind of noise; others are switched on by a test.
CrossbarDevice pcm() {
  CrossbarDevice device = load_device("pcm");
  device.drift = Drift::kNone;
  device.read_noise = ReadNoise::kNone;
  return device;
}

// The deviation of n samples of a normal distribution is itself normal with relative deviation
// 1 / sqrt(2 n): 1 % is 14 of these for a million cells.
constexpr double kTolerance = 0.01;

TEST(ProgrammingNoise, OfAMillionPcmCellsFollowsThePolynomial) {
  const CrossbarDevice device = pcm();
  for (const double x : {0.25, 0.5, 0.75, 1.0}) {
    const double published = 0.26348 + 1.9650 * x - 1.1731 * x * x;  // microsiemens of 25
    const Moments found = moments_of(cells_at(device, x));
    EXPECT_NEAR(found.mean / 25e-6, x, kTolerance * x);
    EXPECT_NEAR(found.deviation / 1e-6, published, kTolerance * published) << x;
  }
}

TEST(ProgrammingNoise, LeavesNoNegativeConductance) {
  const std::vector<double> cells = cells_at(pcm(), 0);
  // The mean of max(0, N(0, s)) is s / sqrt(2 pi).
  const double mean = 0.26348e-6 / std::sqrt(2 * std::numbers::pi);
  EXPECT_NEAR(moments_of(cells).mean, mean, kTolerance * mean);
  EXPECT_GE(*std::ranges::min_element(cells), 0);
}

TEST(ProgrammingNoise, OfAMillionReramCellsFollowsThePolynomialOfItsAge) {
  CrossbarDevice device = load_device("reram");
  device.read_noise = ReadNoise::kNone;
  const std::array<std::pair<double, std::array<double, 5>>, 3> published = {{
      {1, {0.348, 16.030, -43.853, 45.393, -16.815}},
      {86400, {0.701, 22.086, -50.773, 47.095, -16.458}},
      {172800, {0.782, 20.274, -43.507, 37.062, -11.934}},
  }};
  for (const auto& [seconds, c] : published) {
    device.seconds = seconds;
    for (const double x : {0.4, 0.7, 1.0}) {
      const double expected =
          c[0] + c[1] * x + c[2] * x * x + c[3] * std::pow(x, 3) + c[4] * std::pow(x, 4);
      const Moments found = moments_of(cells_at(device, x));
      EXPECT_NEAR(found.deviation / 1e-6, expected, kTolerance * expected) << seconds << " " << x;
    }
  }
}

TEST(ProgrammingNoise, IsConstantOrProportional) {
  CrossbarDevice device;
  device.programming_sigma = 0.02;
  device.programming = Programming::kConstant;
  EXPECT_NEAR(moments_of(cells_at(device, 0.5)).deviation, 2e-6, 2e-8);
  device.programming = Programming::kProportional;
  EXPECT_NEAR(moments_of(cells_at(device, 0.5)).deviation, 1e-6, 1e-8);
  device.programming_scale = 2;
  EXPECT_NEAR(moments_of(cells_at(device, 0.5)).deviation, 2e-6, 2e-8);
}

TEST(Drift, OfAMillionPcmCellsHasThePublishedExponents) {
  CrossbarDevice device = pcm();
  device.programming = Programming::kNone;
  device.drift = Drift::kPcm;
  device.seconds = 86400;
  for (const double x : {0.05, 0.2, 1.0}) {
    const double mean = std::clamp(-0.0155 * std::log(x) + 0.0244, 0.049, 0.1);
    const double deviation = std::clamp(-0.0125 * std::log(x) - 0.0059, 0.008, 0.045);
    std::vector<double> exponents = cells_at(device, x);
    for (double& g : exponents) g = -std::log(g / (x * 25e-6)) / std::log(86400.0 / 20);
    const Moments found = moments_of(exponents);
    EXPECT_NEAR(found.mean, mean, kTolerance * mean) << x;
    // The magnitude of a normal number with a mean of three deviations has a lower deviation.
    if (mean > 4 * deviation) {
      EXPECT_NEAR(found.deviation, deviation, kTolerance * deviation) << x;
    }
  }
}

TEST(Drift, IsAPowerOfTheAge) {
  CrossbarDevice device;
  device.drift = Drift::kPower;
  device.drift_exponent = 0.5;
  device.seconds = 2000;
  EXPECT_DOUBLE_EQ(conductance_of(device, 1e-4, 1), 1e-5);
  device.seconds = 10;  // before the first measurement
  EXPECT_EQ(conductance_of(device, 1e-4, 1), 1e-4);
}

TEST(ReadNoise, OfAMillionPcmCellsGrowsWithTheLogarithmOfTheAge) {
  CrossbarDevice device = pcm();
  device.programming = Programming::kNone;
  device.read_noise = ReadNoise::kPcm;
  for (const double seconds : {20.0, 86400.0}) {
    device.seconds = seconds;
    for (const double y : {0.1, 1.0}) {
      const double q = std::min(0.0088 / std::pow(y, 0.65), 0.2);
      const double expected = y * q * std::sqrt(std::log((seconds + 250e-9) / 500e-9));
      EXPECT_NEAR(moments_of(cells_at(device, y)).deviation / 25e-6, expected,
                  kTolerance * expected);
    }
  }
}

TEST(StuckCells, HaveTheirFractions) {
  CrossbarDevice device;
  device.off_siemens = 1e-6;
  device.stuck_on = 0.02;
  device.stuck_off = 0.05;
  const std::vector<double> cells = cells_at(device, 0.5);
  const auto fraction = [&](double siemens) {
    return static_cast<double>(std::ranges::count(cells, siemens)) / kCells;
  };
  // Four deviations of a binomial count.
  EXPECT_NEAR(fraction(1e-4), 0.02, 4 * std::sqrt(0.02 * 0.98 / kCells));
  EXPECT_NEAR(fraction(1e-6), 0.05, 4 * std::sqrt(0.05 * 0.95 / kCells));
}

TEST(Conductances, DependOnSeedAndIndexAlone) {
  const CrossbarDevice device = load_device("pcm");
  const std::vector<double> targets(20000, 20e-6);
  set_num_threads(1);
  const std::vector<double> one = conductances(device, targets, 3);
  set_num_threads(0);
  EXPECT_EQ(conductances(device, targets, 3), one);
  EXPECT_EQ(conductances(device, std::span(targets).first(10), 3, 500),
            std::vector<double>(one.begin() + 500, one.begin() + 510));
  EXPECT_NE(conductances(device, targets, 4), one);
}

TEST(Conductances, AreTheTargetsOfAnIdealDevice) {
  const std::vector<double> targets = {0, 1e-6, 1e-4};
  EXPECT_EQ(conductances(load_device("ideal"), targets, 1), targets);
}

}  // namespace
}  // namespace halftone::crossbar

// SPDX-License-Identifier: Apache-2.0
// Conductances of programmed cells. Every cell has its own random numbers, so that results depend
// neither on threads nor on the order of the cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/accel/crossbar/device.h"

namespace halftone::crossbar {

/// A seed for each pair of a seed and an index, as if drawn at random.
std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t index);

/// A standard normal number for a seed: Box-Muller on two numbers of Random(seed), with
/// elementary functions that give the same bits on every processor.
double normal_of(std::uint64_t seed);

/// The standard deviation of the programmed conductance, as a fraction of on_siemens, before
/// negative conductances become zero. With the level x = target / on_siemens:
///
///     kPcm    (0.26348 + 1.9650 x - 1.1731 x^2) / 25
///     kReram  1 s:     (0.348 + 16.030 x - 43.853 x^2 + 45.393 x^3 - 16.815 x^4) / 40
///             1 day:   (0.701 + 22.086 x - 50.773 x^2 + 47.095 x^3 - 16.458 x^4) / 40
///             2 days:  (0.782 + 20.274 x - 43.507 x^2 + 37.062 x^3 - 11.934 x^4) / 40
///
/// @param level  x in [0, 1]
/// Source: kPcm: Nandakumar et al., Phase-change memory models for deep learning training and
/// inference, ICECS 2019, in the form of Joshi et al., Nature Communications 11, 2473 (2020);
/// kReram: polynomials fitted to figures of Wan et al., Nature 608, 504 (2022). Constants as
/// published in IBM's aihwkit (PCMLikeNoiseModel, ReRamWan2022NoiseModel), in microsiemens for
/// 25 and 40 microsiemens.
/// Differs: the polynomials scale with on_siemens.
double programming_deviation(const CrossbarDevice& device, double level);

/// Mean and standard deviation of the drift exponent nu.
struct DriftExponent {
  double mean = 0;
  double deviation = 0;
};
/// Of a cell with target level x; for kPcm with l = log(max(x, 1e-7)):
///
///     mean = clamp(-0.0155 l + 0.0244, 0.049, 0.1)
///     deviation = clamp(-0.0125 l - 0.0059, 0.008, 0.045)
///
/// Source: as programming_deviation() for kPcm.
DriftExponent drift_exponent(const CrossbarDevice& device, double level);

/// The standard deviation of the 1/f noise of kPcm as a fraction of the drifted conductance:
///
///     min(0.0088 / max(y^0.65, 0.001), 0.2) sqrt(log((t + t_r) / (2 t_r)))
///
/// with the age t and t_r = 250 ns; 0 for other models.
/// @param level  y = programmed conductance / on_siemens
/// Source: as programming_deviation() for kPcm.
double read_deviation(const CrossbarDevice& device, double level);

/// The conductance of one cell at the age device.seconds:
///
///     g = max(0, target + on_siemens programming_deviation() n_1)
///     g = g (t / start)^-max(0, nu)        nu = |mean + deviation n_2|, if t > start
///     g = max(0, g (1 + read_deviation() n_3))
///
/// with independent standard normal numbers n. A stuck cell is on or off: it has read noise only.
/// @param target  siemens, in [0, on_siemens]
/// @param seed    of this cell
double conductance_of(const CrossbarDevice& device, double target, std::uint64_t seed);

/// conductance_of() for many cells; cell i has the seed derived_seed(seed, first + i).
/// @param targets  siemens
/// @return         siemens
std::vector<double> conductances(const CrossbarDevice& device, std::span<const double> targets,
                                 std::uint64_t seed, std::uint64_t first = 0);

}  // namespace halftone::crossbar

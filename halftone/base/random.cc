// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/random.h"

#include <cmath>
#include <numbers>

namespace halftone {

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
  // The high word of a 64 x 64 bit product, in halves, since __int128 is not standard.
  const std::uint64_t value = next();
  const std::uint64_t high = (value >> 32) * (bound >> 32);
  const std::uint64_t cross_a = (value >> 32) * (bound & 0xffffffff);
  const std::uint64_t cross_b = (value & 0xffffffff) * (bound >> 32);
  const std::uint64_t low = (value & 0xffffffff) * (bound & 0xffffffff);
  const std::uint64_t middle = (low >> 32) + (cross_a & 0xffffffff) + (cross_b & 0xffffffff);
  return high + (cross_a >> 32) + (cross_b >> 32) + (middle >> 32);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace halftone

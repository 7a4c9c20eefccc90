// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and compiler.
#pragma once

#include <cstdint>

namespace halftone {

/// SplitMix64: a 64-bit counter with a mixing function. The same seed gives the same sequence
/// everywhere (the distributions of <random> do not).
/// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Uniform over all 64-bit values.
  std::uint64_t next();
  /// Uniform in [0, bound). @pre bound > 0. Bias below bound / 2^64.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Standard normal (Box-Muller, one value per call). It uses the logarithm and cosine of the C
  /// library, whose last bit may differ between systems.
  double normal();

 private:
  std::uint64_t state_;
};

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// For one spatial choice: what crosses between levels costs how much, and which tiles fit a level,
// with lower bounds on their costs. For the sources here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "halftone/accel/mapping/hierarchy.h"
#include "halftone/accel/mapping/problem.h"
#include "halftone/accel/mapping/spatial_choices.h"
#include "halftone/accel/mapping/traffic.h"

namespace halftone::accel::mapping {

/// A data space on its way from a level to the next level inside that keeps it, or to the MACs.
/// Costs are per word of an instance inside, with fractions of accesses.
struct Link {
  std::size_t space = 0;
  std::size_t parent = 0;  ///< level
  double pj_down = 0, pj_up = 0;
  double cycles = 0;  ///< of the parent
};

/// A memory: a level that keeps a data space.
struct Memory {
  std::size_t level = 0;
  Extents spatial;                ///< iterations of spatial loops at the level and inside
  std::vector<NestLoop> fan_out;  ///< spatial loops between the previous memory and this one
  std::vector<Link> links;        ///< of the data spaces it keeps, from outside
};

/// What is the same for all tilings of one spatial choice.
struct Machine {
  const Problem& problem;  ///< padded
  const Hierarchy& hierarchy;
  SpatialChoice choice;
  std::vector<Memory> memories;
  double compute_cycles = 0;
  double fixed_pj = 0;               ///< of MACs, and of what they exchange with memories
  std::vector<double> fixed_cycles;  ///< of each level, for the MACs
  double leakage_pj = 0;             ///< of all instances in each cycle
};

Machine make_machine(const Problem& padded, const Hierarchy& hierarchy,
                     const SpatialChoice& choice);

/// The divisors of the temporal iterations of each dimension.
class Divisors {
 public:
  explicit Divisors(const Extents& iterations);

  [[nodiscard]] const std::vector<std::uint64_t>& of(std::size_t dimension) const {
    return values_[dimension];
  }
  /// Whether the divisor with index i divides the one with index j.
  [[nodiscard]] bool divides(std::size_t dimension, std::size_t i, std::size_t j) const {
    return divides_[dimension][j * values_[dimension].size() + i] != 0;
  }

 private:
  std::array<std::vector<std::uint64_t>, kMaxDimensions> values_;
  std::array<std::vector<std::uint8_t>, kMaxDimensions> divides_;
};

/// A tile: temporal iterations at the level and inside, of each dimension.
struct Tiling {
  std::array<std::uint16_t, kMaxDimensions> indices{};  ///< into the divisors
  double min_pj = 0;                                    ///< of the memory's links
  double min_cycles = 0;
};

/// Tilings that fit a memory, in the order of (min_cycles, min_pj) if `by_cycles`, of min_pj
/// otherwise.
/// @throws Error kShape if there are more than 2^18
std::vector<Tiling> tilings_of(const Machine& machine, const Memory& memory,
                               const Divisors& divisors, bool by_cycles);

}  // namespace halftone::accel::mapping

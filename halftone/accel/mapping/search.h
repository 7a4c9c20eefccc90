// SPDX-License-Identifier: Apache-2.0
// The best mapping of a problem on a hierarchy.
#pragma once

#include "halftone/accel/mapping/accesses.h"
#include "halftone/accel/mapping/hierarchy.h"
#include "halftone/accel/mapping/mapping.h"
#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

enum class Objective {
  kTime,        ///< cycles; of mappings with equal cycles the energy
  kEnergy,      ///< energy; of mappings with equal energy the cycles
  kEnergyTime,  ///< energy x cycles
};

struct SearchOptions {
  Objective objective = Objective::kTime;
  /// Pads extents that fan-outs do not divide, and extents with prime factors above 7.
  bool pads = true;
};

struct FoundMapping {
  Problem problem;  ///< padded
  Mapping mapping;
  MappingCosts evaluation;
};

/// The best of these mappings; of equal ones the first in a fixed order:
///
/// - Each level keeps the data spaces that it can. Levels that keep none have no temporal loops.
/// - Each axis of a fan-out takes one of its dimensions, with as many of its instances as the
///   extent allows. Axes choose from the innermost level outward. With `pads`, an extent E on I
///   instances is ceil(E / I) iterations of as few instances as give no more iterations; without,
///   the largest divisor of E up to I.
/// - With `pads`, the iterations of each dimension that are left for temporal loops also become the
///   next number without prime factors above 7.
/// - Temporal loops have every bound that divides these iterations, and every order.
///
/// The search is exhaustive. It drops partial mappings whose lower bound on the objective is not
/// below the best so far, and orders that cause no less traffic than another. A matrix product
/// takes milliseconds. A convolution has so many tilings that it is better lowered to a product.
/// @throws Error as check(problem, hierarchy); kShape if no mapping fits, or a level has more than
/// 2^18 tilings
FoundMapping find_mapping(const Problem& problem, const Hierarchy& hierarchy,
                          const SearchOptions& options = {});

}  // namespace halftone::accel::mapping

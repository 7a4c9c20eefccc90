// SPDX-License-Identifier: Apache-2.0
// The ways to spread a problem over instances that the search considers. For the sources here.
#pragma once

#include <vector>

#include "halftone/accel/mapping/hierarchy.h"
#include "halftone/accel/mapping/mapping.h"
#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

struct SpatialChoice {
  Extents extents;                              ///< of the padded problem
  Extents temporal;                             ///< iterations left for temporal loops
  std::vector<std::vector<SpatialLoop>> loops;  ///< of each level
};

/// All choices, as find_mapping() defines them, in the order of their compute cycles.
std::vector<SpatialChoice> spatial_choices(const Problem& problem, const Hierarchy& hierarchy,
                                           bool pads);

}  // namespace halftone::accel::mapping

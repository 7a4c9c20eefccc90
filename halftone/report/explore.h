// SPDX-License-Identifier: Apache-2.0
// Searches of hardware and bits for people (text, a picture) and scripts (JSON).
#pragma once

#include <string>

#include "halftone/api/explore.h"

namespace halftone::report {

std::string to_text(const ExploreReport& report);
std::string to_json(const ExploreReport& report);

/// The front: predicted drop of accuracy over the objective, a dot for each design whose predicted
/// drop is at most four times the budget, a ring for each verified one at the drop measured.
std::string front_svg(const ExploreReport& report);

}  // namespace halftone::report

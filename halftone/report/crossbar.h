// SPDX-License-Identifier: Apache-2.0
// Layers on crossbars, in reports of simulations and of training.
#pragma once

#include <string>
#include <vector>

#include "halftone/accel/crossbar/network.h"
#include "halftone/report/json.h"

namespace halftone::report {

/// "digital: NAME (OPERATOR): REASON", a line for each layer that is not on arrays.
std::string digital_lines(const std::vector<crossbar::LayerUse>& layers);
/// A list of objects.
Json layers_json(const std::vector<crossbar::LayerUse>& layers);

}  // namespace halftone::report

// SPDX-License-Identifier: Apache-2.0
// Costs of networks, predicted and measured, for people (text) and scripts (JSON).
#pragma once

#include <string>
#include <vector>

#include "halftone/compress/budget/allocation.h"
#include "halftone/report/fields.h"
#include "halftone/types/sensitivity.hpp"

namespace halftone::report {

std::string loss_text(double loss);
std::string value_text(compress::Measure measure, double value);
/// One of the costs; 0 if it is not known.
std::string value_text(compress::Measure measure, const v0::NetworkCosts& costs);
/// The measures that are known of all.
std::vector<compress::Measure> known_measures(const v0::NetworkCosts& costs);
ResultFields costs_fields(const v0::NetworkCosts& costs);

/// A table of predicted costs under a heading; empty if there are none.
std::string front_text(const std::vector<v0::NetworkCosts>& front);
}  // namespace halftone::report

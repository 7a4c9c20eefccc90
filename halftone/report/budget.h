// SPDX-License-Identifier: Apache-2.0
// Searches within budgets, for people (text) and scripts (JSON).
#pragma once

#include <string>

#include "halftone/api/sensitivity.h"

namespace halftone::report {

std::string to_text(const BudgetReport& report);
std::string to_json(const BudgetReport& report);

}  // namespace halftone::report

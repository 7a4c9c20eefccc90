// SPDX-License-Identifier: Apache-2.0
// Sensitivities and searches under budgets for people (text, a picture) and scripts (JSON).
#pragma once

#include <string>

#include "halftone/api/sensitivity.h"

namespace halftone::report {

std::string to_text(const compress::Sensitivity& sensitivity);
std::string to_json(const compress::Sensitivity& sensitivity);

std::string to_text(const BudgetReport& report);
std::string to_json(const BudgetReport& report);

}  // namespace halftone::report

// SPDX-License-Identifier: Apache-2.0
// Sensitivities and searches under budgets for people (text, a picture) and scripts (JSON).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/sensitivity.h"

namespace halftone::report {

/// Of a network or a language model.
std::string to_text(const compress::Sensitivity& sensitivity);
std::string to_json(const compress::Sensitivity& sensitivity);

/// All layers that have a choice.
struct ChoiceTotals {
  std::size_t layers = 0;
  std::optional<double> weight_bits{};  ///< mean over their weights; nothing without any
  std::size_t bytes = 0;
  double loss = 0;  ///< sum over units that have each the choice alone
};
/// @param choice  of `found`
ChoiceTotals totals_of(const compress::Sensitivity& found, const v0::ChoiceSensitivity& choice);
/// The index of the unit of each layer.
std::vector<std::size_t> units_of_layers(const compress::Sensitivity& found);

std::string to_text(const BudgetReport& report);
std::string to_json(const BudgetReport& report);

/// A table of predicted costs under a heading; empty if there are none.
std::string front_text(const std::vector<v0::NetworkCosts>& front);

}  // namespace halftone::report

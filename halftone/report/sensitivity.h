// SPDX-License-Identifier: Apache-2.0
// What layers lose, of a network or a language model, for people (text) and scripts (JSON).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/report/json.h"
#include "halftone/types/sensitivity.hpp"

namespace halftone::report {

std::string to_text(const v0::Sensitivity& sensitivity);
std::string to_json(const v0::Sensitivity& sensitivity);
/// The same as a value.
Json sensitivity_json(const v0::Sensitivity& sensitivity);

/// All layers that have a choice.
struct ChoiceTotals {
  std::size_t layers = 0;
  std::optional<double> weight_bits{};  ///< mean over their weights; nothing without any
  std::size_t bytes = 0;
  double loss = 0;  ///< sum over units that have each the choice alone
};
/// @param choice  of `found`
ChoiceTotals totals_of(const v0::Sensitivity& found, const v0::ChoiceSensitivity& choice);
/// The index of the unit of each layer.
std::vector<std::size_t> units_of_layers(const v0::Sensitivity& found);

/// What a loss is, in words.
std::string loss_meaning(const v0::Sensitivity& found);
/// What to know of the samples that losses are measured on; empty: nothing.
std::string samples_note(const v0::Sensitivity& found);

}  // namespace halftone::report

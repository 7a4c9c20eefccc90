// SPDX-License-Identifier: Apache-2.0
// Settings of a quantization by one word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/recipe.h"

namespace halftone {

/// What a word says: settings of all layers, or limits within which bits are chosen.
struct PresetSettings {
  std::string name;
  SettingNames settings{};
  std::vector<std::string> limits{};  ///< as budget_named() reads them; empty: no budget
};

/// "int8": weights and inputs as 8-bit integers with scales and zero points; "w4a8": weights of 4
/// bits, inputs of 8; "smallest": the fewest bytes, and "fastest": the least time on this machine,
/// each with a loss of at most 0.01, in nats per sample or as relative squared error.
std::vector<PresetSettings> presets();
/// @throws Error kUsage with the list of names if there is none of this name
PresetSettings preset_named(std::string_view name);

}  // namespace halftone

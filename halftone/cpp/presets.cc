// SPDX-License-Identifier: Apache-2.0
#include "halftone/presets.hpp"

#include "halftone/api/presets.h"
#include "halftone/api/sensitivity.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

using compress::Measure;

Preset to_public(const halftone::PresetSettings& preset) {
  Preset result{preset.name};
  result.recipe = parse_recipe(compress::to_toml(halftone::load_recipe({}, preset.settings)));
  if (!preset.limits.empty()) {
    const compress::Budget limits = budget_named(preset.limits);
    result.budget = {limits[Measure::kLoss], limits[Measure::kBytes], limits[Measure::kTime]};
  }
  return result;
}

}  // namespace

std::vector<Preset> presets() {
  return at_border([] {
    std::vector<Preset> result;
    for (const halftone::PresetSettings& each : halftone::presets())
      result.push_back(to_public(each));
    return result;
  });
}

Preset preset(std::string_view name) {
  return at_border([&] { return to_public(preset_named(name)); });
}

}  // namespace halftone::v0

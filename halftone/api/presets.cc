// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/presets.h"

#include "halftone/base/error.h"

namespace halftone {

std::vector<PresetSettings> presets() {
  constexpr const char* kLoss = "loss=0.01";
  // With more bytes than a network has, a budget wants the least time.
  constexpr const char* kAnyBytes = "bytes=1e15";
  v0::LayerSettings integers{.weight_bits = 8, .activation_bits = 8};
  integers.weight_scheme = "int";
  integers.activation_scheme = "asymmetric";
  integers.arithmetic = "integers";
  return {{"int8", {integers}},
          {"w4a8", {{.weight_bits = 4, .activation_bits = 8}}},
          {"smallest", {}, {kLoss}},
          {"fastest", {}, {kLoss, kAnyBytes}}};
}

PresetSettings preset_named(std::string_view name) {
  std::string list;
  for (const PresetSettings& each : presets()) {
    if (each.name == name) return each;
    list += (list.empty() ? "" : ", ") + each.name;
  }
  fail(ErrorKind::kUsage,
       "preset: expected one of " + list + ", found '" + std::string(name) + "'");
}

}  // namespace halftone

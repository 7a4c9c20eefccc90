// SPDX-License-Identifier: Apache-2.0
// The descriptions in presets/, which CMake makes part of the program.
#pragma once

#include <span>
#include <string_view>

namespace halftone::accel {

struct Preset {
  std::string_view name;  ///< of the file, without .toml
  std::string_view text;
};

std::span<const Preset> presets();

}  // namespace halftone::accel

// SPDX-License-Identifier: Apache-2.0
// The descriptions in devices/, which CMake makes part of the program.
#pragma once

#include <span>
#include <string_view>

namespace halftone::crossbar {

struct DeviceText {
  std::string_view name;  ///< of the file, without .toml
  std::string_view text;
};

std::span<const DeviceText> device_texts();

}  // namespace halftone::crossbar

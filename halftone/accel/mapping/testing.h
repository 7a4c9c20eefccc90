// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this folder. Only tests include this.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halftone/accel/mapping/hierarchy.h"

namespace halftone::accel::mapping {

inline Level keeping(std::string name, std::vector<bool> keeps) {
  Level level;
  level.name = std::move(name);
  level.keeps = std::move(keeps);
  return level;
}

}  // namespace halftone::accel::mapping

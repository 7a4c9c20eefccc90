// SPDX-License-Identifier: Apache-2.0
// The descriptions in presets/, which CMake makes part of the program.
#pragma once

#include <span>

#include "halftone/base/embedded_text.h"

namespace halftone::accel {

std::span<const EmbeddedText> presets();

}  // namespace halftone::accel

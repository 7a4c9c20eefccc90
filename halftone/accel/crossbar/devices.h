// SPDX-License-Identifier: Apache-2.0
// The descriptions in devices/, which CMake makes part of the program.
#pragma once

#include <span>

#include "halftone/base/embedded_text.h"

namespace halftone::crossbar {

std::span<const EmbeddedText> device_texts();

}  // namespace halftone::crossbar

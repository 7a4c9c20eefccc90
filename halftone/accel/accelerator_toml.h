// SPDX-License-Identifier: Apache-2.0
// Descriptions as tables of TOML, for programs that change values in them.
#pragma once

#include <toml++/toml.h>

#include "halftone/accel/accelerator.h"

namespace halftone::accel {

/// @throws Error as parse_accelerator(), without a name and, for values of no file, without a line
Accelerator read_accelerator(const toml::table& root);

}  // namespace halftone::accel

// SPDX-License-Identifier: Apache-2.0
// Descriptions as tables of TOML, for programs that change values in them.
#pragma once

#include <toml++/toml.h>

#include "halftone/accel/accelerator.h"

namespace halftone::accel {

/// A description whose `base` names one of the program: that one with this one's keys in place of
/// its own. Units and memories are found by their names, rules of operators come behind. Without
/// `base` the same table.
/// @throws Error kUsage if there is no such description
toml::table with_base(const toml::table& root);

/// @param root  without `base`, see with_base()
/// @throws Error as parse_accelerator(), without a name and, for values of no file, without a line
Accelerator read_accelerator(const toml::table& root);

}  // namespace halftone::accel

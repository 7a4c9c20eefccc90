// SPDX-License-Identifier: Apache-2.0
// Which key of a recipe belongs to which choice. Private to this folder.
#pragma once

#include <toml++/toml.h>

namespace halftone::compress {

/// Rejects keys without an effect, since another key of the same section makes another choice. A
/// key of [default] has an effect if some [[layer]] makes its choice; a [[layer]] takes the choices
/// of [default] that it does not make.
/// @throws Error kUsage that names the line, the key and the choice that it belongs to
void check_choices(const toml::table& recipe);

}  // namespace halftone::compress

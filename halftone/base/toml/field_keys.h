// SPDX-License-Identifier: Apache-2.0
// Keys of TOML files that are fields of structs.
#pragma once

#include <string>
#include <vector>

#include "halftone/base/fields/fields.h"
#include "halftone/base/toml/keys.h"

namespace halftone::keys {

/// A key for each field, which it sets: of its name, kind, range and words.
/// @param fields  neither lists nor paths; outlive the result
std::vector<Key> keys_of(const Fields& fields);

/// A line "key = value" for each field that is set.
std::string lines_of(const Fields& fields);

}  // namespace halftone::keys

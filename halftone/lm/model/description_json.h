// SPDX-License-Identifier: Apache-2.0
// A description as text, for Halftone's own files of models.
#pragma once

#include <string>
#include <string_view>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// The fields as a JSON object, by the names that they have in Description. Those that are newer
/// than the first version of files are left out where they have their usual values.
std::string description_to_json(const Description& description);

/// The inverse.
/// @throws Error kFormat if the text is no such object: a field is missing, unknown, or of another
///         type; as check()
Description description_from_json(std::string_view text);

}  // namespace halftone::lm

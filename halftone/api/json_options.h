// SPDX-License-Identifier: Apache-2.0
// Options of texts in JSON, as requests of many texts have them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "halftone/types/language.hpp"

namespace halftone {

/// Takes the members that are options out of an object: the fields of GenerateOptions by their
/// names, but the sequence and control; "stop", a text or a list of texts; "logit_bias", numbers by
/// token. Schemas and grammars
/// are there themselves, not the names of files. A member that is null counts as absent.
/// @throws Error kUsage "temperature: expected at least 0, found -1"
void take_options(nlohmann::ordered_json& request, v0::GenerateOptions& options);

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// Measured choices as a state file keeps them. Private to this folder.
#pragma once

#include <string>

#include "halftone/base/state/state_file.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone {

StateFile::Json to_state(const compress::ChoiceSensitivity& choice);
/// @throws StateFile::Json::exception if the JSON has another form
compress::ChoiceSensitivity from_state(const std::string& name, const StateFile::Json& json);

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// Recurrences of config.json. Private to this folder.
#pragma once

#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// Fills in which blocks have a recurrence, and its sizes. @pre the other sizes are there
/// @throws Error kFormat or kUnsupported that names the key
void read_config_recurrences(const ConfigReader& config, const Architecture& architecture,
                             Description& description);

}  // namespace halftone::lm

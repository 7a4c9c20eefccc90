// SPDX-License-Identifier: Apache-2.0
// Recurrences of config.json. Private to this folder.
#pragma once

#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// Fills in the number of blocks of Nemotron-H, their mixers, and which networks have no experts: a
/// list says it, whatever num_hidden_layers does.
/// @throws Error kFormat or kUnsupported that names the key
void read_config_branches(const ConfigReader& config, Description& description);

/// Fills in which blocks have a recurrence, and its sizes. @pre the other sizes are there
/// @throws Error kFormat or kUnsupported that names the key
void read_config_recurrences(const ConfigReader& config, const Architecture& architecture,
                             Description& description);

}  // namespace halftone::lm

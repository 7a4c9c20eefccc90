// SPDX-License-Identifier: Apache-2.0
// What config.json says of positions.
#pragma once

#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// Sets the angles of rotary positions, the elements that are rotated and the blocks without
/// positions. As in the package transformers, rope_scaling counts where rope_parameters are there
/// too, and the original context of scaled positions is the trained one unless a key says another.
/// @param description  has its sizes and windows
/// @throws Error kFormat of keys that are missing or of another type; kUnsupported for scalings and
///         their keys that are not known: both name the key
void read_config_positions(const ConfigReader& config, const Architecture& architecture,
                           Description& description);

}  // namespace halftone::lm

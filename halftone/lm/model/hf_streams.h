// SPDX-License-Identifier: Apache-2.0
// Streams of config.json, and the sizes of blocks that have them. Private to this folder.
#pragma once

#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// Fills in the widths of feed-forward networks: one number, or a list with one of each block.
/// @throws Error kFormat that names the key
void read_config_inners(const ConfigReader& config, Description& description);

/// Fills in streams, the matrices past attention and the cutoffs of gates. @pre the number of
/// blocks is there
/// @throws Error kFormat or kUnsupported that names the key
void read_config_streams(const ConfigReader& config, Description& description);

}  // namespace halftone::lm

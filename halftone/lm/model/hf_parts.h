// SPDX-License-Identifier: Apache-2.0
// Parts of config.json, each of which a source reads. Private to this folder. What they throw names
// the key: kFormat if one is missing or of another type, kUnsupported for what is not described.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// The keys that a model_type has, with the values that the package transformers gives those that a
/// file leaves out; null for those that are none then.
nlohmann::json hf_defaults(std::string_view model_type);

/// Sets the angles of rotary positions, the elements that are rotated and the blocks without
/// positions. As in the package transformers, rope_scaling counts where rope_parameters are there
/// too, and the original context of scaled positions is the trained one unless a key says another.
/// @param description  has its sizes and windows
void read_config_positions(const ConfigReader& config, const Architecture& architecture,
                           Description& description);

/// Fills in the number of blocks of Nemotron-H, their mixers, and which networks have no experts: a
/// list says it, whatever num_hidden_layers does.
void read_config_branches(const ConfigReader& config, Description& description);

/// Fills in which blocks have a recurrence, and its sizes. @pre the other sizes are there
void read_config_recurrences(const ConfigReader& config, const Architecture& architecture,
                             Description& description);

/// Fills in the widths of feed-forward networks: one number, or a list with one of each block.
void read_config_inners(const ConfigReader& config, Description& description);

/// Fills in streams, the matrices past attention and the cutoffs of gates. @pre the number of
/// blocks is there
void read_config_streams(const ConfigReader& config, Description& description);

}  // namespace halftone::lm

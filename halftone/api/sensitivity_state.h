// SPDX-License-Identifier: Apache-2.0
// Measured choices as a state file keeps them. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "halftone/api/sensitivity.h"
#include "halftone/base/state/state_file.h"

namespace halftone {

/// Options that keep each measured choice in the file of the settings, and take from it what a run
/// before measured; without a file, those of the settings.
/// @param what    the file keeps, as for StateFile
/// @param state   outlives the result
/// @throws Error as StateFile
compress::MeasureSettings with_state(const std::string& what, const ir::Graph& graph,
                                     const data::Dataset& data, const SensitivitySettings& settings,
                                     std::optional<StateFile>& state);

}  // namespace halftone

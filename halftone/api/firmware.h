// SPDX-License-Identifier: Apache-2.0
// Limits of a network as C, and what networks take as C while they are looked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/compress/sensitivity/budget_search.h"
#include "halftone/types/export_c.hpp"

namespace halftone {

/// Limits of a network as C, in the bytes and instructions that `halftone export` counts.
struct FirmwareLimits {
  bool limits_flash = false;    ///< the limit on bytes is one on the flash, not on the file
  std::optional<double> ram{};  ///< of the arena
  bool limits_instructions = false;
  std::optional<double> instruction_pj{};  ///< picojoules of an instruction, for a limit on energy
  std::string core = "cortex-m4";          ///< as v0::ExportCOptions::core

  [[nodiscard]] bool counts() const { return limits_instructions || instruction_pj.has_value(); }
  [[nodiscard]] bool any() const { return limits_flash || ram.has_value() || counts(); }
};

/// A network that was fitted or coded by rule, as C.
/// @param original  of which it was made
/// @throws Error as sizes_as_c()
v0::CExport as_c(ir::Graph graph, const Network& original, const std::string& core);

/// @throws Error kUnsupported if the arena of what was found is too large
void check_ram(const ir::Graph& found, const Network& original, const FirmwareLimits& firmware);

/// Has sensitivity() count instructions too, of the network and of its layers with the encodings of
/// their inputs, and picojoules where an instruction has some.
/// @param original  outlives the settings
void count_instructions(compress::MeasureSettings& options, const Network& original,
                        const FirmwareLimits& firmware);

/// What a search chooses from.
struct SearchedChoices {
  const compress::Recipe& recipe;
  const std::vector<compress::LayerChoice>& choices;
};

/// Adds what a search needs to keep these limits.
/// @param graph     that is quantized
/// @param original  of which it was made; outlives the options, like the limits
/// @throws Error kUnsupported if the arena is above its limit with each choice in all layers
void add_limits(compress::SearchOptions& options, const ir::Graph& graph, const Network& original,
                const FirmwareLimits& firmware, const SearchedChoices& searched);

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// Settings of a quantization by one word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/recipe.hpp"
#include "halftone/sensitivity.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// What a word says, as `--preset` of the program: a recipe for quantize(), or limits for
  /// quantize_within().
  struct Preset {
    std::string name;
    Recipe recipe{};
    std::optional<Budget> budget{};  ///< nullopt: the recipe says all
  };

  /// "int8": weights and inputs as 8-bit integers with scales and zero points; "w4a8": weights of 4
  /// bits, inputs of 8; "smallest": the fewest bytes, and "fastest": the least time on this
  /// machine, each with a loss of at most 0.01, in nats per sample or as relative squared error.
  HALFTONE_CPP_API std::vector<Preset> presets();
  /// @throws Error kUsage with the list of names if there is none of this name
  HALFTONE_CPP_API Preset preset(std::string_view name);

}  // namespace v0
}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// Number systems that a layer may get, as people write them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/compress/recipe.h"

namespace halftone::compress {

/// A number system and bits for the weights and the input of a layer.
struct LayerChoice {
  std::string name;
  LayerSettings settings;

  [[nodiscard]] bool is_float() const { return settings.skip.value_or(false); }
};

/// Reads "WEIGHTS[/INPUTS]" or "float". Both are "[SYSTEM:]BITS", with the system basis if none is
/// named before; INPUTS may be none, and is WEIGHTS where it is left out: "2", "4/8", "3/none",
/// "symmetric:8", "nf4:4/symmetric:8". A system of vectors has no bits, and inputs of 8 where
/// INPUTS is left out: "2x6", "2x6/none".
/// @throws Error kUsage that says what was expected; else as numerics::find_system()
LayerChoice choice_named(std::string_view text);

/// @throws Error kUsage also if a choice is there twice, or there is none
std::vector<LayerChoice> choices_named(std::span<const std::string> texts);

/// A recipe that gives each layer this choice where no override of `recipe` says something else.
Recipe with_choice(const Recipe& recipe, const LayerChoice& choice);

/// An override that gives one layer this choice, but for what overrides of `recipe` say of it.
LayerOverride override_for(const Recipe& recipe, const std::string& layer,
                           const LayerChoice& choice);

}  // namespace halftone::compress

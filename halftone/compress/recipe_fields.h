// SPDX-License-Identifier: Apache-2.0
// Recipes as people write them: their keys, and what these mean.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/fields/fields.h"
#include "halftone/compress/recipe.h"
#include "halftone/types/recipe.hpp"

namespace halftone::compress {

// What settings are where nothing says so.
inline constexpr int kUsualBits = 3;
inline constexpr std::size_t kUsualWeightGroup = 128;
inline constexpr std::size_t kUsualActivationGroup = 32;

/// The keys of [default], [ends] and [[layer]]. Some are options of the program too.
Fields fields_of(v0::LayerSettings& settings);
/// The keys of [fit].
Fields fields_of(v0::FitSettings& settings);

/// Reads a recipe in TOML, all of which is checked.
/// @throws Error as parse_recipe()
v0::Recipe parse_recipe_text(std::string_view toml, const std::string& name);

/// What settings mean.
/// @param check_type  see parse_recipe()
/// @throws Error kUsage for a value out of range, an unknown number system, and as set_systems()
LayerSettings settings_of(const v0::LayerSettings& text, const TypeCheck& check_type = {});
/// @param text  without values out of range
FitOptions options_of(const v0::FitSettings& text);

/// The recipe as text, without what has its default or no effect.
v0::Recipe text_of(const Recipe& recipe);
/// The text in TOML.
std::string to_toml(const v0::Recipe& recipe);

/// What a key needs to have an effect, beside a layer that is not skipped: "calibrator =
/// \"percentile\"".
std::vector<std::string> needs_of(std::string_view key);

/// Visits each key that has no effect, since another key makes another choice. A key of [default]
/// has an effect if some [[layer]] makes its choice; a [[layer]] takes the choices of [default]
/// that it does not make, as [ends] do.
/// @param visit  gets the number of the section (0: [default], 1: [ends], 2: [fit], and from 3 on
///               each [[layer]]), the key, and what it needs instead
void visit_useless(v0::Recipe& recipe,
                   const std::function<void(std::size_t, const Field&, const std::string&)>& visit);

}  // namespace halftone::compress

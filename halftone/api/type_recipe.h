// SPDX-License-Identifier: Apache-2.0
// The types of a language model's matrices, from files and single settings.
#pragma once

#include <filesystem>

#include "halftone/lm/quantize/type_recipe.h"

namespace halftone {

/// The recipe of a TOML file.
/// @throws Error as read_file() and lm::parse_type_recipe()
lm::TypeRecipe load_type_recipe(const std::filesystem::path& path);

/// A recipe with some of its types replaced.
/// @param given  its types replace those of the recipe, unless they are empty; its rules are added
///               behind, so that they override what is before them
lm::TypeRecipe with_types(lm::TypeRecipe recipe, const lm::TypeRecipe& given);

}  // namespace halftone

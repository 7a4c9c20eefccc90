// SPDX-License-Identifier: Apache-2.0
// Recipes of language models: the grammar of all recipes, read as types of matrices.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halftone/api/recipe.h"
#include "halftone/lm/quantize/type_recipe.h"

namespace halftone {

/// Reads a recipe for a language model, such as
///
///     [default]
///     type = "4x8"
///     [ends]
///     type = "2x8"
///     [[layer]]
///     name = "blk.*.attn_v.weight"
///     weight_scheme = "nvfp4"
///
/// [ends] are the embeddings and the head. A number system with its bits and groups is a type:
/// "int" with weight_bits = 4 and group_size = 64 is "int4/64". A layer that is skipped is kept.
/// @param name   of the recipe in messages
/// @param names  settings in place of those of [default]
/// @throws Error kUsage as compress::parse_recipe(); or for a setting that language models do not
///         have, bits without a number system, and a system that lm::weight_type() does not have
lm::TypeRecipe parse_type_recipe(std::string_view toml, const std::string& name,
                                 const SettingNames& names = {});
/// The same of a file. @param path  empty: settings alone
/// @throws Error as read_file() and parse_type_recipe()
lm::TypeRecipe load_type_recipe(const std::filesystem::path& path, const SettingNames& names = {});

/// A recipe with some of its types replaced.
/// @param given  its types replace those of the recipe, unless they are empty; its rules are added
///               behind, so that they override what is before them
lm::TypeRecipe with_types(lm::TypeRecipe recipe, const lm::TypeRecipe& given);

}  // namespace halftone

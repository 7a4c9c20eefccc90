// SPDX-License-Identifier: Apache-2.0
// Recipes from files and single settings.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "halftone/base/fields/fields.h"
#include "halftone/compress/recipe.h"
#include "halftone/types/recipe.hpp"

namespace halftone {

/// Settings of all layers, as options have them.
struct SettingNames {
  v0::LayerSettings layers{};
  std::optional<int> ends{};  ///< bits of weights and activations of the first and last layers

  bool operator==(const SettingNames& other) const = default;
};

/// The fields of these.
Fields fields_of(SettingNames& names);

/// The recipe of a TOML file, with some of its defaults and ends replaced.
/// @param path      empty: the default recipe
/// @param names  settings that replace those of the file
/// @param check_type  see compress::parse_recipe()
/// @throws Error as read_file() and compress::parse_recipe(); kUsage if a number is none, there is
///         no such number system, arithmetic or calibrator, or one has no effect
compress::Recipe load_recipe(const std::filesystem::path& path, const SettingNames& names = {},
                             const compress::TypeCheck& check_type = {});

/// The same from a recipe's text.
/// @param name  of the recipe in messages
/// @throws Error as load_recipe() without a file
compress::Recipe recipe_from(std::string_view toml, const std::string& name,
                             const SettingNames& names = {},
                             const compress::TypeCheck& check_type = {});

}  // namespace halftone

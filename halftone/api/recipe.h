// SPDX-License-Identifier: Apache-2.0
// Recipes from files and single settings.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "halftone/compress/recipe.h"

namespace halftone {

/// Settings of all layers as people write them; empty ones are not set.
struct SettingNames {
  std::optional<int> weight_bits{};
  std::string activation_bits{};  ///< a number, or "none": float32
  std::string scheme{};           ///< of weights and activations: a number system, or "float"
  std::string weight_scheme{};
  std::string activation_scheme{};
  std::string arithmetic{};  ///< "auto", "bits", "integers" or "float"
  std::string calibrator{};  ///< "fit", "min-max", ...
};

/// @throws Error kUsage if a number is none, or there is no such number system, arithmetic or
///         calibrator
compress::LayerSettings settings_named(const SettingNames& names);

/// The recipe of a TOML file, with some of its defaults replaced.
/// @param path      empty: the default recipe
/// @param settings  those that are set replace the defaults of the file
/// @throws Error as read_file() and compress::parse_recipe()
compress::Recipe load_recipe(const std::filesystem::path& path,
                             const compress::LayerSettings& settings = {});

/// The same from a recipe's text.
/// @param name  of the recipe in messages
/// @throws Error as compress::parse_recipe()
compress::Recipe recipe_from(std::string_view toml, const std::string& name,
                             const compress::LayerSettings& settings = {});

}  // namespace halftone

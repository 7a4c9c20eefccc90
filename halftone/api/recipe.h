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
  std::string type{};  ///< of weights: as `weight_scheme`, or of files of language models
  std::string activation_scheme{};
  std::string arithmetic{};   ///< "auto", "bits", "integers" or "float"
  std::string calibrator{};   ///< "fit", "min-max", ...
  std::optional<int> ends{};  ///< bits of weights and activations of the first and last layers
};

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

// SPDX-License-Identifier: Apache-2.0
// Recipes from files and single settings.
#pragma once

#include <filesystem>

#include "halftone/compress/recipe.h"

namespace halftone {

/// The recipe of a TOML file, with some of its defaults replaced.
/// @param path      empty: the default recipe
/// @param settings  those that are set replace the defaults of the file
/// @throws Error as read_file() and compress::parse_recipe()
compress::Recipe load_recipe(const std::filesystem::path& path,
                             const compress::LayerSettings& settings = {});

}  // namespace halftone

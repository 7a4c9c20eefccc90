// SPDX-License-Identifier: Apache-2.0
// Recipes: which layer gets which number system, and how it is fitted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halftone/export.hpp"
#include "halftone/types/recipe.hpp"  // IWYU pragma: export

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The recipe of a TOML file.
  /// @throws Error kIo if it cannot be read; as parse_recipe()
  HALFTONE_CPP_API Recipe load_recipe(const std::filesystem::path& path);
  /// The recipe of a text.
  /// @param name  of the recipe in messages
  /// @throws Error kUsage with line and key on a syntax error, an unknown key, or a value of the
  /// wrong
  ///         type or out of range
  HALFTONE_CPP_API Recipe parse_recipe(std::string_view toml, const std::string& name = "recipe");
  /// The recipe as a file that the program and parse_recipe() read. Bits of 0 are "none".
  HALFTONE_CPP_API std::string to_toml(const Recipe& recipe);

}  // namespace v0
}  // namespace halftone

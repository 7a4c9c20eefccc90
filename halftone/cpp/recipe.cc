// SPDX-License-Identifier: Apache-2.0
#include "halftone/recipe.hpp"

#include "halftone/base/file.h"
#include "halftone/compress/recipe_fields.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

Recipe parse_recipe(std::string_view text, const std::string& name) {
  return at_border([&] { return compress::parse_recipe_text(text, name); });
}

Recipe load_recipe(const std::filesystem::path& path) {
  return at_border([&] {
    const std::vector<std::byte> bytes = read_file(path);
    return parse_recipe({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  });
}

std::string to_toml(const Recipe& recipe) { return compress::to_toml(recipe); }

compress::Recipe recipe_of(const Recipe& recipe) {
  return compress::parse_recipe(to_toml(recipe), "recipe");
}

}  // namespace halftone::v0

// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/type_recipe.h"

#include <cstddef>
#include <vector>

#include "halftone/base/file.h"

namespace halftone {

lm::TypeRecipe load_type_recipe(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return lm::parse_type_recipe({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                               path.string());
}

lm::TypeRecipe with_types(lm::TypeRecipe recipe, const lm::TypeRecipe& given) {
  if (!given.blocks.empty()) recipe.blocks = given.blocks;
  if (!given.tables.empty()) recipe.tables = given.tables;
  recipe.rules.insert(recipe.rules.end(), given.rules.begin(), given.rules.end());
  return recipe;
}

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/recipe.h"

#include <cstddef>
#include <vector>

#include "halftone/base/file.h"

namespace halftone {

compress::Recipe load_recipe(const std::filesystem::path& path,
                             const compress::LayerSettings& settings) {
  compress::Recipe recipe;
  if (!path.empty()) {
    const std::vector<std::byte> bytes = read_file(path);
    recipe = compress::parse_recipe({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                    path.string());
  }
  recipe.defaults = settings.over(recipe.defaults);
  return recipe;
}

}  // namespace halftone

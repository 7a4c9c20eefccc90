// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/recipe.h"

#include <charconv>
#include <cstddef>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone {
namespace {

/// A number of bits; 0 for "none". for_layer() checks the range.
int bits_named(std::string_view text) {
  if (text == "none") return 0;
  int bits = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (error != std::errc() || rest != text.data() + text.size() || bits < 1) {
    fail(ErrorKind::kUsage,
         "bits of activations: expected a number of at least 1, or none, found '" +
             std::string(text) + "'");
  }
  return bits;
}

/// The settings of all layers.
compress::LayerSettings settings_named(const SettingNames& names) {
  compress::LayerSettings settings;
  settings.weight_bits = names.weight_bits;
  if (!names.activation_bits.empty()) settings.activation_bits = bits_named(names.activation_bits);
  if (names.scheme == "float") {
    settings.skip = true;
  } else if (!names.scheme.empty()) {
    settings.weight_system = settings.activation_system = &numerics::find_system(names.scheme);
  }
  if (!names.weight_scheme.empty()) {
    settings.weight_system = &numerics::find_system(names.weight_scheme);
  }
  if (!names.activation_scheme.empty()) {
    settings.activation_system = &numerics::find_system(names.activation_scheme);
  }
  if (!names.arithmetic.empty()) settings.arithmetic = ir::arithmetic_named(names.arithmetic);
  if (!names.calibrator.empty()) settings.calibrator = compress::calibrator_named(names.calibrator);
  return settings;
}

}  // namespace

compress::Recipe load_recipe(const std::filesystem::path& path, const SettingNames& names) {
  if (path.empty()) return recipe_from("", "recipe", names);
  const std::vector<std::byte> bytes = read_file(path);
  return recipe_from({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(),
                     names);
}

compress::Recipe recipe_from(std::string_view toml, const std::string& name,
                             const SettingNames& names) {
  compress::Recipe recipe = compress::parse_recipe(toml, name);
  recipe.defaults = settings_named(names).over(recipe.defaults);
  if (names.ends) {
    recipe.ends.weight_bits = recipe.ends.activation_bits = names.ends;
  }
  return recipe;
}

}  // namespace halftone

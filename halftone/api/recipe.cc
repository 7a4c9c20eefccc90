// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/recipe.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/compress/recipe_fields.h"

namespace halftone {
namespace {

/// What language models do not have.
void check_language_names(const v0::LayerSettings& names) {
  const auto refuse = [](const char* what, bool is_set) {
    if (!is_set) return;
    fail(ErrorKind::kUsage,
         std::string(what) +
             ": is of other networks; activations of language models are 8-bit integers with a "
             "scale for each group");
  };
  refuse("activation bits", names.activation_bits.has_value());
  refuse("scheme of activations", names.activation_scheme.has_value());
  refuse("arithmetic", names.arithmetic.has_value());
  refuse("calibrator", names.calibrator.has_value());
}

/// Settings without an effect are mistakes.
void check_names(const v0::LayerSettings& names) {
  const auto refuse_with = [](const std::string& choice, const char* what, bool is_set) {
    if (!is_set) return;
    fail(ErrorKind::kUsage,
         std::string(what) + ": has no effect with " + choice + "; leave one of them out");
  };
  if (names.weight_bits == 0) {
    refuse_with("float32 weights", "scheme of weights", names.weight_scheme.has_value());
  }
  if (names.activation_bits == 0) {
    refuse_with("float32 activations", "calibrator", names.calibrator.has_value());
    refuse_with("float32 activations", "scheme of activations",
                names.activation_scheme.has_value());
  }
  refuse_with("a type", "number system or bits of weights",
              names.type && (names.scheme || names.weight_scheme || names.weight_bits));
  if (names.scheme == "float") {
    refuse_with("the scheme float", "weight bits", names.weight_bits.has_value());
    refuse_with("the scheme float", "activation bits", names.activation_bits.has_value());
    refuse_with("the scheme float", "calibrator", names.calibrator.has_value());
  }
}

/// The settings of all layers.
compress::LayerSettings settings_named(const v0::LayerSettings& names,
                                       const compress::TypeCheck& check_type) {
  check_names(names);
  if (check_type) check_language_names(names);
  return compress::settings_of(names, check_type);
}

}  // namespace

Fields fields_of(SettingNames& names) {
  Fields fields = compress::fields_of(names.layers);
  fields.push_back({"ends", &names.ends,
                    "Bits of weights and activations in the first and last layers; 8 keeps most of "
                    "what few bits lose",
                    FieldRange::between(1, numerics::kMaxBits)});
  return fields;
}

compress::Recipe load_recipe(const std::filesystem::path& path, const SettingNames& names,
                             const compress::TypeCheck& check_type) {
  if (path.empty()) return recipe_from("", "recipe", names, check_type);
  const std::vector<std::byte> bytes = read_file(path);
  return recipe_from({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(),
                     names, check_type);
}

compress::Recipe recipe_from(std::string_view toml, const std::string& name,
                             const SettingNames& names, const compress::TypeCheck& check_type) {
  compress::Recipe recipe = compress::parse_recipe(toml, name, check_type);
  recipe.defaults = settings_named(names.layers, check_type).over(recipe.defaults);
  if (names.ends) {
    recipe.ends.weight_bits = names.ends;
    if (!check_type) recipe.ends.activation_bits = names.ends;
  }
  return recipe;
}

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/recipe.h"

#include <charconv>
#include <cstddef>
#include <utility>
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

/// @param is_language  schemes are those of weights
compress::SchemeNames schemes_named(const SettingNames& names, bool is_language) {
  const auto system = [](const std::string& name) {
    return name.empty() || name == "float" ? std::nullopt
                                           : std::optional(numerics::named_system(name));
  };
  compress::SchemeNames schemes{.both = system(names.scheme)};
  for (const auto& [name, store] : {std::pair(&names.weight_scheme, &schemes.weights),
                                    std::pair(&names.activation_scheme, &schemes.activations)}) {
    if (!name->empty()) *store = numerics::named_system(*name);
  }
  if (!names.type.empty() && !is_language) schemes.weights = numerics::named_system(names.type);
  if (is_language && schemes.both && !schemes.weights) schemes.weights = schemes.both;
  if (is_language) schemes.both.reset();
  return schemes;
}

/// What language models do not have.
void check_language_names(const SettingNames& names) {
  const auto refuse = [](const char* what, bool is_set) {
    if (!is_set) return;
    fail(ErrorKind::kUsage,
         std::string(what) +
             ": is of other networks; activations of language models are 8-bit integers with a "
             "scale for each group");
  };
  refuse("activation bits", !names.activation_bits.empty());
  refuse("scheme of activations", !names.activation_scheme.empty());
  refuse("arithmetic", !names.arithmetic.empty());
  refuse("calibrator", !names.calibrator.empty());
}

/// Settings without an effect are mistakes.
void check_names(const SettingNames& names) {
  const auto refuse_with = [](const std::string& choice, const char* what, bool is_set) {
    if (!is_set) return;
    fail(ErrorKind::kUsage,
         std::string(what) + ": has no effect with " + choice + "; leave one of them out");
  };
  if (names.activation_bits == "none") {
    refuse_with("float32 activations", "calibrator", !names.calibrator.empty());
    refuse_with("float32 activations", "scheme of activations", !names.activation_scheme.empty());
  }
  const bool has_system =
      !names.scheme.empty() || !names.weight_scheme.empty() || names.weight_bits.has_value();
  refuse_with("a type", "number system or bits of weights", !names.type.empty() && has_system);
  if (names.scheme == "float") {
    refuse_with("the scheme float", "weight bits", names.weight_bits.has_value());
    refuse_with("the scheme float", "activation bits", !names.activation_bits.empty());
    refuse_with("the scheme float", "calibrator", !names.calibrator.empty());
  }
}

/// The settings of all layers.
compress::LayerSettings settings_named(const SettingNames& names,
                                       const compress::TypeCheck& check_type) {
  check_names(names);
  const bool is_language = check_type != nullptr;
  if (is_language) check_language_names(names);
  compress::LayerSettings settings;
  settings.weight_bits = names.weight_bits;
  if (!names.activation_bits.empty()) settings.activation_bits = bits_named(names.activation_bits);
  compress::set_systems(settings, schemes_named(names, is_language));
  if (is_language && !names.type.empty()) {
    check_type(names.type);
    settings.weight_type = names.type;
  }
  settings.skip = names.scheme == "float" ? std::optional(true) : std::nullopt;
  if (!names.arithmetic.empty()) settings.arithmetic = ir::arithmetic_named(names.arithmetic);
  if (!names.calibrator.empty()) settings.calibrator = compress::calibrator_named(names.calibrator);
  return settings;
}

}  // namespace

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
  recipe.defaults = settings_named(names, check_type).over(recipe.defaults);
  if (names.ends) {
    recipe.ends.weight_bits = names.ends;
    if (!check_type) recipe.ends.activation_bits = names.ends;
  }
  return recipe;
}

}  // namespace halftone

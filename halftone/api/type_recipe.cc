// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/type_recipe.h"

#include "halftone/base/error.h"

namespace halftone {
namespace {

using compress::LayerSettings;

void check_type(const std::string& type) {
  if (type != lm::kKeepType) (void)lm::weight_type(type);
}

/// The type of a number system, bits and groups.
std::string type_of_system(const LayerSettings& settings) {
  const numerics::NumberSystem& system = *settings.weight_system;
  std::string type(system.name);
  if (settings.weight_bits && system.vectors == nullptr && !system.allows(*settings.weight_bits)) {
    fail(ErrorKind::kUsage, "weight bits: number system '" + type + "': expected " +
                                std::to_string(system.min_bits) + " to " +
                                std::to_string(system.max_bits) + " bits, found " +
                                std::to_string(*settings.weight_bits));
  }
  if (system.vectors == nullptr && system.min_bits != system.max_bits && settings.weight_bits) {
    type += std::to_string(*settings.weight_bits);
  }
  if (settings.group_size) type += "/" + std::to_string(*settings.group_size);
  check_type(type);
  return type;
}

/// The type that settings are; empty: they say nothing.
std::string type_of(const LayerSettings& settings) {
  if (settings.granularity.value_or(numerics::Granularity::kGroup) !=
      numerics::Granularity::kGroup) {
    fail(ErrorKind::kUsage, "granularity: expected group, as language models have their weights");
  }
  if (settings.skip.value_or(false) || settings.weight_bits == 0) return std::string(lm::kKeepType);
  if (settings.weight_system != nullptr) return type_of_system(settings);
  if (settings.weight_bits || settings.group_size) {
    const std::string system =
        settings.weight_type.empty() ? "" : ", found the type " + settings.weight_type;
    fail(ErrorKind::kUsage,
         "bits or groups of weights: expected a number system beside them, such as "
         "weight_scheme = \"int\"" +
             system);
  }
  return settings.weight_type;
}

lm::TypeRecipe types_of(const compress::Recipe& recipe, const std::string& name) {
  const auto type_in = [&](const std::string& where, const LayerSettings& settings) {
    return with_context(where, [&] { return type_of(settings.over(recipe.defaults)); });
  };
  lm::TypeRecipe types;
  types.type = type_in(name, {});
  if (recipe.ends != LayerSettings{}) types.table_type = type_in(name + ": [ends]", recipe.ends);
  for (const compress::LayerOverride& each : recipe.overrides) {
    if (each.settings == LayerSettings{}) {
      fail(ErrorKind::kUsage, each.where + ": [[layer]]: expected a type, a number system or skip");
    }
    types.rules.push_back({each.pattern, type_in(each.where, each.settings), each.where});
  }
  return types;
}

}  // namespace

lm::TypeRecipe parse_type_recipe(std::string_view toml, const std::string& name,
                                 const SettingNames& names) {
  return types_of(recipe_from(toml, name, names, check_type), name);
}

lm::TypeRecipe load_type_recipe(const std::filesystem::path& path, const SettingNames& names) {
  return types_of(load_recipe(path, names, check_type), path.empty() ? "types" : path.string());
}

lm::TypeRecipe with_types(lm::TypeRecipe recipe, const lm::TypeRecipe& given) {
  if (!given.type.empty()) recipe.type = given.type;
  if (!given.table_type.empty()) recipe.table_type = given.table_type;
  recipe.rules.insert(recipe.rules.end(), given.rules.begin(), given.rules.end());
  return recipe;
}

}  // namespace halftone

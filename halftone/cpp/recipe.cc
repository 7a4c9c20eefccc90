// SPDX-License-Identifier: Apache-2.0
#include "halftone/recipe.hpp"

#include <sstream>
#include <type_traits>

#include "halftone/base/file.h"
#include "halftone/base/toml/keys.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

/// Calls visit(key, field) for each setting of a layer.
template <typename Settings, typename Visit>
void visit_layer(Settings& s, const Visit& visit) {
  visit("weight_bits", s.weight_bits);
  visit("activation_bits", s.activation_bits);
  visit("scheme", s.scheme);
  visit("weight_scheme", s.weight_scheme);
  visit("type", s.type);
  visit("activation_scheme", s.activation_scheme);
  visit("weight_offset", s.weight_offset);
  visit("activation_offset", s.activation_offset);
  visit("granularity", s.granularity);
  visit("group_size", s.group_size);
  visit("activation_scales", s.activation_scales);
  visit("activation_group_size", s.activation_group_size);
  visit("calibrator", s.calibrator);
  visit("percentile", s.percentile);
  visit("momentum", s.momentum);
  visit("skip", s.skip);
  visit("arithmetic", s.arithmetic);
}

/// The same for the settings of the fit.
template <typename Settings, typename Visit>
void visit_fit(Settings& s, const Visit& visit) {
  visit("basis_solver", s.basis_solver);
  visit("iterations", s.iterations);
  visit("learning_rate", s.learning_rate);
  visit("l2_penalty", s.l2_penalty);
  visit("input_weighted", s.input_weighted);
  visit("error_feedback", s.error_feedback);
  visit("refine", s.refine);
  visit("refine_sweeps", s.refine_sweeps);
  visit("bias_correction", s.bias_correction);
  visit("damping", s.damping);
  visit("equalize", s.equalize);
  visit("schedule", s.schedule);
  visit("refit_activations", s.refit_activations);
  visit("activation_samples", s.activation_samples);
  visit("input_rows", s.input_rows);
  visit("small_ratios", s.small_ratios);
  visit("reconstruct_steps", s.reconstruct_steps);
  visit("reconstruct_rounding", s.reconstruct_rounding);
  visit("reconstruct_unit", s.reconstruct_unit);
  visit("reconstruct_batch", s.reconstruct_batch);
  visit("reconstruct_samples", s.reconstruct_samples);
  visit("drop", s.drop);
  visit("weight_rate", s.weight_rate);
  visit("level_rate", s.level_rate);
  visit("bias_rate", s.bias_rate);
  visit("rounding_penalty", s.rounding_penalty);
}

constexpr const char* kNoBits = "none";  ///< float32

/// Puts the fields that are set into a table.
auto writer(toml::table& table) {
  return [&table](const char* key, const auto& field) {
    if (!field) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(*field)>, int>) {
      if (*field == 0) {
        table.insert_or_assign(key, kNoBits);
        return;
      }
    }
    table.insert_or_assign(key, *field);
  };
}

/// Reads the fields that a table has, which is known to be right.
auto reader(const toml::table& table) {
  return [&table](const char* key, auto& field) {
    using T = std::decay_t<decltype(*field)>;
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    if constexpr (std::is_same_v<T, int>) {
      field = node->is_string() ? 0 : static_cast<int>(node->value<std::int64_t>().value());
    } else {
      field = node->value<T>();
    }
  };
}

Recipe read_recipe(const toml::table& root) {
  Recipe recipe;
  if (const toml::table* table = root["default"].as_table()) {
    visit_layer(recipe.defaults, reader(*table));
  }
  if (const toml::table* table = root["ends"].as_table()) {
    visit_layer(recipe.ends, reader(*table));
  }
  if (const toml::table* table = root["fit"].as_table()) visit_fit(recipe.fit, reader(*table));
  if (const toml::array* tables = root["layer"].as_array()) {
    for (const toml::node& node : *tables) {
      LayerOverride layer;
      layer.name = (*node.as_table())["name"].value_or(std::string());
      visit_layer(layer.settings, reader(*node.as_table()));
      recipe.layers.push_back(std::move(layer));
    }
  }
  return recipe;
}

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& name) {
  return at_border([&] {
    compress::parse_recipe(text, name);  // which checks all of it
    Recipe recipe;
    keys::read_document(text, name, [&](const toml::table& root) { recipe = read_recipe(root); });
    return recipe;
  });
}

Recipe load_recipe(const std::filesystem::path& path) {
  return at_border([&] {
    const std::vector<std::byte> bytes = read_file(path);
    return parse_recipe({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  });
}

std::string to_toml(const Recipe& recipe) {
  toml::table root;
  toml::table defaults;
  visit_layer(recipe.defaults, writer(defaults));
  if (!defaults.empty()) root.insert("default", std::move(defaults));
  toml::table ends;
  visit_layer(recipe.ends, writer(ends));
  if (!ends.empty()) root.insert("ends", std::move(ends));
  toml::table fit;
  visit_fit(recipe.fit, writer(fit));
  if (!fit.empty()) root.insert("fit", std::move(fit));
  toml::array layers;
  for (const LayerOverride& layer : recipe.layers) {
    toml::table table;
    table.insert("name", layer.name);
    visit_layer(layer.settings, writer(table));
    layers.push_back(std::move(table));
  }
  if (!layers.empty()) root.insert("layer", std::move(layers));
  std::ostringstream text;
  text << root << '\n';
  return text.str();
}

compress::Recipe recipe_of(const Recipe& recipe) {
  return compress::parse_recipe(to_toml(recipe), "recipe");
}

}  // namespace halftone::v0

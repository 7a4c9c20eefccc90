// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/recipe_choices.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/toml/keys.h"

namespace halftone::compress {
namespace {

/// A key that has an effect with some values of another key only.
struct KeyOfChoice {
  std::string_view key;
  std::string_view choice;
  std::string_view usual;    ///< its value where it is not set; "": every value is possible then
  std::string_view needed;   ///< the value that the key needs; "": any but `without`
  std::string_view without;  ///< the value with which the key has no effect
};

/// Keys of layers that all need a layer which is not skipped.
constexpr std::array<std::string_view, 16> kLayerKeys = {"weight_bits",
                                                         "activation_bits",
                                                         "weight_scheme",
                                                         "activation_scheme",
                                                         "weight_offset",
                                                         "activation_offset",
                                                         "granularity",
                                                         "group_size",
                                                         "activation_scales",
                                                         "activation_group_size",
                                                         "calibrator",
                                                         "percentile",
                                                         "momentum",
                                                         "arithmetic",
                                                         "scheme",
                                                         "type"};

constexpr std::array<KeyOfChoice, 15> kOfLayers = {{
    {"weight_scheme", "weight_bits", "", "", "none"},
    {"weight_offset", "weight_bits", "", "", "none"},
    {"granularity", "weight_bits", "", "", "none"},
    {"group_size", "weight_bits", "", "", "none"},
    {"group_size", "granularity", "", "group", ""},
    {"activation_scheme", "activation_bits", "", "", "none"},
    {"activation_offset", "activation_bits", "", "", "none"},
    {"activation_scales", "activation_bits", "", "", "none"},
    {"activation_group_size", "activation_bits", "", "", "none"},
    {"activation_group_size", "activation_scales", "", "group", ""},
    {"calibrator", "activation_bits", "", "", "none"},
    {"percentile", "activation_bits", "", "", "none"},
    {"percentile", "calibrator", "", "percentile", ""},
    {"momentum", "activation_bits", "", "", "none"},
    {"momentum", "calibrator", "", "moving-average", ""},
}};

constexpr std::array<KeyOfChoice, 14> kOfFit = {{
    {"learning_rate", "basis_solver", "least-squares", "gradient", ""},
    {"l2_penalty", "basis_solver", "least-squares", "gradient", ""},
    {"refine_sweeps", "refine", "true", "true", ""},
    {"refit_activations", "schedule", "layerwise", "layerwise", ""},
    {"reconstruct_steps", "schedule", "layerwise", "layerwise", ""},
    {"reconstruct_rounding", "reconstruct_steps", "0", "", "0"},
    {"reconstruct_unit", "reconstruct_steps", "0", "", "0"},
    {"reconstruct_batch", "reconstruct_steps", "0", "", "0"},
    {"reconstruct_samples", "reconstruct_steps", "0", "", "0"},
    {"drop", "reconstruct_steps", "0", "", "0"},
    {"weight_rate", "reconstruct_steps", "0", "", "0"},
    {"level_rate", "reconstruct_steps", "0", "", "0"},
    {"bias_rate", "reconstruct_steps", "0", "", "0"},
    {"rounding_penalty", "reconstruct_rounding", "straight-through", "adaptive", ""},
}};

/// A key that has an effect if any of these steps is done, as they all are unless set to false.
struct KeyOfSteps {
  std::string_view key;
  std::span<const std::string_view> steps;
};

constexpr std::array<std::string_view, 4> kStepsOnInputs = {"refine", "error_feedback",
                                                            "input_weighted", "bias_correction"};
constexpr std::array<KeyOfSteps, 2> kOfSteps = {{
    {"damping", std::span(kStepsOnInputs).first(2)},
    {"input_rows", kStepsOnInputs},
}};

/// A value as the tables above have it; nothing if the key is not set.
std::optional<std::string> value_in(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto text = node->value_exact<std::string>()) return *text;
  if (const auto flag = node->value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto number = node->value_exact<std::int64_t>()) return std::to_string(*number);
  return "";
}

bool allows(const KeyOfChoice& each, const std::string& value) {
  return each.needed.empty() ? value != each.without : value == each.needed;
}

/// What to write in place of another choice: 'scheme = "float"' is in quotes, a number is not.
std::string choice_text(const KeyOfChoice& each) {
  const std::string key(each.choice);
  if (each.needed == "true") return key + " = true";
  if (!each.needed.empty()) return key + " = \"" + std::string(each.needed) + "\"";
  if (each.without == "0") return key + " above 0";
  if (each.without == "true") return key + " = false";
  return key + " other than \"" + std::string(each.without) + "\"";
}

/// A section of layers, with what other sections say.
struct Section {
  const toml::table& table;
  const toml::table* defaults;               ///< null: this is [default] itself, or [fit]
  std::vector<const toml::table*> layers{};  ///< all [[layer]]
};

/// Whether the choices that hold for a section make a key useless.
bool is_useless(const Section& section, const KeyOfChoice& each) {
  std::optional<std::string> value = value_in(section.table, each.choice);
  if (value && section.defaults != nullptr) return !allows(each, *value);
  if (!value && section.defaults != nullptr) value = value_in(*section.defaults, each.choice);
  if (!value && each.usual.empty()) return false;
  if (allows(each, value.value_or(std::string(each.usual)))) return false;
  return std::ranges::none_of(section.layers, [&](const toml::table* layer) {
    const auto other = value_in(*layer, each.choice);
    return other && allows(each, *other);
  });
}

void check_key(const Section& section, const KeyOfChoice& each) {
  const toml::node* node = section.table.get(each.key);
  if (node == nullptr || !is_useless(section, each)) return;
  // The steps themselves are a choice: none of them needs nothing.
  if (each.key == "reconstruct_steps" && value_in(section.table, each.key) == "0") return;
  keys::fail_at(*node, "'" + std::string(each.key) + "' is for " + choice_text(each) +
                           " only: set that, or leave the key out");
}

void check_steps(const toml::table& fit) {
  for (const KeyOfSteps& each : kOfSteps) {
    const toml::node* node = fit.get(each.key);
    const bool is_used = std::ranges::any_of(
        each.steps, [&](std::string_view step) { return value_in(fit, step) != "false"; });
    if (node == nullptr || is_used) continue;
    std::string steps;
    for (const std::string_view step : each.steps) {
      steps += (steps.empty() ? "" : " or ") + std::string(step);
    }
    keys::fail_at(*node, "'" + std::string(each.key) + "' is for " + steps +
                             " only: set one of them to true, or leave the key out");
  }
}

void check_section(const Section& section, std::span<const KeyOfChoice> keys) {
  for (const KeyOfChoice& each : keys) check_key(section, each);
}

void check_layer(const Section& section) {
  for (const std::string_view key : kLayerKeys) {
    check_key(section, {key, "skip", "", "", "true"});
    if (key != "scheme") check_key(section, {key, "scheme", "", "", "float"});
  }
  check_section(section, kOfLayers);
}

}  // namespace

void check_choices(const toml::table& recipe) {
  std::vector<const toml::table*> layers;
  if (const toml::array* list = recipe["layer"].as_array()) {
    for (const toml::node& node : *list) {
      if (const toml::table* layer = node.as_table()) layers.push_back(layer);
    }
  }
  // What [ends] says holds for some layers, as a [[layer]] does.
  if (const toml::table* ends = recipe["ends"].as_table()) layers.push_back(ends);
  const toml::table none;
  const toml::table* defaults = recipe["default"].as_table();
  if (defaults != nullptr) check_layer({*defaults, nullptr, layers});
  for (const toml::table* layer : layers) {
    check_layer({*layer, defaults != nullptr ? defaults : &none, layers});
  }
  if (const toml::table* fit = recipe["fit"].as_table()) {
    check_section({*fit, nullptr, {}}, kOfFit);
    check_steps(*fit);
  }
}

}  // namespace halftone::compress

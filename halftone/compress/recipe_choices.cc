// SPDX-License-Identifier: Apache-2.0
// Which key of a recipe belongs to which choice.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/compress/recipe_fields.h"

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
std::optional<std::string> value_in(const Fields& section, std::string_view key) {
  const Field* field = find_field(section, key);
  return field->is_set() ? std::optional(field->value_text()) : std::nullopt;
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

/// Sections of layers: what they have, and what they take from others.
struct Sections {
  std::vector<Fields> layers;  ///< [default], [ends] and each [[layer]]
  Fields fit;

  explicit Sections(v0::Recipe& recipe) : fit(fields_of(recipe.fit)) {
    layers = {fields_of(recipe.defaults), fields_of(recipe.ends)};
    for (v0::LayerOverride& each : recipe.layers) layers.push_back(fields_of(each.settings));
  }

  /// Whether the choices that hold for a section of layers make a key useless.
  [[nodiscard]] bool is_useless(const Fields& section, const KeyOfChoice& each) const {
    const bool is_default = &section == layers.data();
    std::optional<std::string> value = value_in(section, each.choice);
    if (value && !is_default) return !allows(each, *value);
    if (!value && !is_default) value = value_in(layers[0], each.choice);
    if (!value || allows(each, *value)) return false;
    return std::none_of(layers.begin() + 1, layers.end(), [&](const Fields& layer) {
      const auto other = value_in(layer, each.choice);
      return other && allows(each, *other);
    });
  }
};

bool is_useless_step(const Fields& fit, const KeyOfChoice& each) {
  // The steps themselves are a choice: none of them needs nothing.
  if (each.key == "reconstruct_steps" && value_in(fit, each.key) == "0") return false;
  return !allows(each, value_in(fit, each.choice).value_or(std::string(each.usual)));
}

using Visit = std::function<void(const Field& field, const std::string& reason)>;

/// @param is_useless  of a key of a choice
template <typename IsUseless>
void visit_keys(const Fields& section, std::span<const KeyOfChoice> keys, const Visit& visit,
                const IsUseless& is_useless) {
  for (const KeyOfChoice& each : keys) {
    const Field* field = find_field(section, each.key);
    if (field->is_set() && is_useless(each)) {
      visit(*field, "for " + choice_text(each) + " only: set that, or leave the key out");
    }
  }
}

std::string steps_text(const KeyOfSteps& each) {
  std::string steps;
  for (const std::string_view step : each.steps) {
    steps += (steps.empty() ? "" : " or ") + std::string(step);
  }
  return steps;
}

void visit_steps(const Fields& fit, const Visit& visit) {
  for (const KeyOfSteps& each : kOfSteps) {
    const Field* field = find_field(fit, each.key);
    const bool is_used = std::ranges::any_of(
        each.steps, [&](std::string_view step) { return value_in(fit, step) != "false"; });
    if (!field->is_set() || is_used) continue;
    visit(*field,
          "for " + steps_text(each) + " only: set one of them to true, or leave the key out");
  }
}

/// What every key of a layer needs, and what some need.
std::vector<KeyOfChoice> keys_of_layers() {
  std::vector<KeyOfChoice> keys;
  for (const std::string_view key : kLayerKeys) {
    keys.push_back({key, "skip", "", "", "true"});
    if (key != "scheme") keys.push_back({key, "scheme", "", "", "float"});
  }
  keys.insert(keys.end(), kOfLayers.begin(), kOfLayers.end());
  return keys;
}

}  // namespace

std::vector<std::string> needs_of(std::string_view key) {
  std::vector<std::string> needs;
  for (const std::span<const KeyOfChoice> keys :
       {std::span<const KeyOfChoice>(kOfLayers), std::span<const KeyOfChoice>(kOfFit)}) {
    for (const KeyOfChoice& each : keys) {
      if (each.key == key) needs.push_back(choice_text(each));
    }
  }
  for (const KeyOfSteps& each : kOfSteps) {
    if (each.key == key) needs.push_back(steps_text(each));
  }
  return needs;
}

void visit_useless(
    v0::Recipe& recipe,
    const std::function<void(std::size_t, const Field&, const std::string&)>& visit) {
  constexpr std::size_t kFit = 2;
  const Sections sections(recipe);
  const std::vector<KeyOfChoice> keys = keys_of_layers();
  for (std::size_t i = 0; i < sections.layers.size(); ++i) {
    const Fields& section = sections.layers[i];
    visit_keys(
        section, keys,
        [&](const Field& field, const std::string& reason) {
          visit(i < kFit ? i : i + 1, field, reason);
        },
        [&](const KeyOfChoice& each) { return sections.is_useless(section, each); });
  }
  const Visit visit_fit = [&](const Field& field, const std::string& reason) {
    visit(kFit, field, reason);
  };
  visit_keys(sections.fit, kOfFit, visit_fit,
             [&](const KeyOfChoice& each) { return is_useless_step(sections.fit, each); });
  visit_steps(sections.fit, visit_fit);
}

}  // namespace halftone::compress

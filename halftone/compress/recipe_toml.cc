// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/toml/keys.h"
#include "halftone/compress/recipe.h"
#include "halftone/compress/recipe_choices.h"

namespace halftone::compress {
namespace {

using keys::choice;
using keys::fail_at;
using keys::fail_type;
using keys::flag;
using keys::Key;
using keys::read_table;
using keys::real;
using keys::whole;
using keys::word;

/// Bits, where the word "none" means float32.
Key bits(std::string_view key, std::optional<int>& store) {
  const Key number = whole(key, 1, numerics::kMaxCodeBits,
                           [&store](std::int64_t value) { store = static_cast<int>(value); });
  return {key, [read = number.read, key, &store](const toml::node& node) {
            if (!node.is_string()) return read(node);
            if (node.as_string()->get() != "none") fail_type(node, key, "1 to 16, or \"none\"");
            store = 0;
          }};
}

/// A number system as people write it.
Key system_key(std::string_view key, std::optional<numerics::NamedSystem>& store) {
  return word(key, [&store](const std::string& name) { store = numerics::named_system(name); });
}

/// The type of weights. Of networks that are no language models, another word for their system.
Key type_key(LayerSettings& settings, SchemeNames& names, const TypeCheck& check_type) {
  return word("type", [&](const std::string& name) {
    if (check_type) {
      check_type(name);
      settings.weight_type = name;
    } else {
      names.weights = numerics::named_system(name);
    }
  });
}

/// The number systems of a layer.
std::vector<Key> system_keys(LayerSettings& settings, SchemeNames& names) {
  return {
      word("scheme",
           [&](const std::string& name) {
             if (name == "float") {
               settings.skip = true;
             } else {
               names.both = numerics::named_system(name);
             }
           }),
      system_key("weight_scheme", names.weights),
      system_key("activation_scheme", names.activations),
      flag("weight_offset", [&](bool value) { settings.weight_offset = value; }),
      flag("activation_offset", [&](bool value) { settings.activation_offset = value; }),
  };
}

/// Which values share scales.
std::vector<Key> block_keys(LayerSettings& settings) {
  using numerics::Granularity;
  using Scales = ActivationScales;
  constexpr std::int64_t kMaxGroup = std::int64_t{1} << 31;
  return {
      word("granularity",
           [&](const std::string& name) {
             settings.granularity = choice<Granularity>(name, {{"tensor", Granularity::kTensor},
                                                               {"channel", Granularity::kChannel},
                                                               {"group", Granularity::kGroup}});
           }),
      whole("group_size", 1, kMaxGroup,
            [&](std::int64_t size) { settings.group_size = static_cast<std::size_t>(size); }),
      word("activation_scales",
           [&](const std::string& name) {
             settings.activation_scales = choice<Scales>(name, {{"fitted", Scales::kFitted},
                                                                {"sample", Scales::kSample},
                                                                {"row", Scales::kRow},
                                                                {"group", Scales::kGroup}});
           }),
      whole("activation_group_size", 1, kMaxGroup,
            [&](std::int64_t size) {
              settings.activation_group_size = static_cast<std::size_t>(size);
            }),
  };
}

/// How activation ranges follow from calibration data.
std::vector<Key> range_keys(LayerSettings& settings) {
  return {
      word("calibrator",
           [&](const std::string& name) { settings.calibrator = calibrator_named(name); }),
      real("percentile", 50, 100, [&](double value) { settings.percentile = value; }),
      real("momentum", 0, 1, [&](double value) { settings.momentum = value; }),
  };
}

std::vector<Key> layer_keys(LayerSettings& settings, SchemeNames& names) {
  using ir::Arithmetic;
  std::vector<Key> keys = {
      bits("weight_bits", settings.weight_bits),
      bits("activation_bits", settings.activation_bits),
  };
  for (const auto& more :
       {system_keys(settings, names), block_keys(settings), range_keys(settings)}) {
    keys.insert(keys.end(), more.begin(), more.end());
  }
  keys.push_back(flag("skip", [&](bool value) { settings.skip = value; }));
  keys.push_back(word("arithmetic", [&](const std::string& name) {
    settings.arithmetic = choice<Arithmetic>(name, {{"auto", Arithmetic::kAuto},
                                                    {"bits", Arithmetic::kBits},
                                                    {"integers", Arithmetic::kIntegers},
                                                    {"float", Arithmetic::kFloat}});
  }));
  return keys;
}

std::vector<Key> weight_keys(MatrixFitOptions& weights) {
  return {
      word("basis_solver",
           [&](const std::string& name) {
             weights.levels.solver =
                 choice<LevelSolver>(name, {{"least-squares", LevelSolver::kLeastSquares},
                                            {"gradient", LevelSolver::kGradient}});
           }),
      whole("iterations", 1, 100000,
            [&](std::int64_t value) { weights.levels.iterations = static_cast<int>(value); }),
      real("learning_rate", 1e-9, 1, [&](double value) { weights.levels.learning_rate = value; }),
      real("l2_penalty", 0, 1e3, [&](double value) { weights.levels.l2_penalty = value; }),
      flag("input_weighted", [&](bool value) { weights.input_weighted = value; }),
      flag("error_feedback", [&](bool value) { weights.feedback = value; }),
      flag("refine", [&](bool value) { weights.refine = value; }),
      whole("refine_sweeps", 1, 10000,
            [&](std::int64_t value) { weights.refine_sweeps = static_cast<int>(value); }),
      flag("bias_correction", [&](bool value) { weights.bias_correction = value; }),
      real("damping", 1e-9, 1e3, [&](double value) { weights.damping.uniform = value; }),
  };
}

std::vector<Key> reconstruct_keys(ReconstructOptions& reconstruct) {
  using Unit = ReconstructUnit;
  return {
      whole("reconstruct_steps", 0, 1000000,
            [&](std::int64_t value) { reconstruct.steps = static_cast<int>(value); }),
      word("reconstruct_rounding",
           [&](const std::string& name) {
             reconstruct.rounding = choice<ReconstructRounding>(
                 name, {{"straight-through", ReconstructRounding::kStraightThrough},
                        {"adaptive", ReconstructRounding::kAdaptive}});
           }),
      word("reconstruct_unit",
           [&](const std::string& name) {
             reconstruct.unit =
                 choice<Unit>(name, {{"block", Unit::kBlock}, {"layer", Unit::kLayer}});
           }),
      whole("reconstruct_batch", 4, 4096,
            [&](std::int64_t value) { reconstruct.batch = static_cast<std::size_t>(value); }),
      whole("reconstruct_samples", 4, std::int64_t{1} << 24,
            [&](std::int64_t value) { reconstruct.samples = static_cast<std::size_t>(value); }),
      real("drop", 0, 1, [&](double value) { reconstruct.drop = value; }),
      real("weight_rate", 0, 1, [&](double value) { reconstruct.weight_rate = value; }),
      real("level_rate", 0, 1, [&](double value) { reconstruct.level_rate = value; }),
      real("bias_rate", 0, 1, [&](double value) { reconstruct.bias_rate = value; }),
      real("rounding_penalty", 0, 1e3, [&](double value) { reconstruct.rounding_penalty = value; }),
  };
}

std::vector<Key> fit_keys(FitOptions& fit) {
  std::vector<Key> keys = weight_keys(fit.weights);
  const std::vector<Key> own = {
      flag("equalize", [&](bool value) { fit.equalize = value; }),
      word("schedule",
           [&](const std::string& name) {
             fit.schedule = choice<Schedule>(name, {{"layerwise", Schedule::kLayerwise},
                                                    {"phases", Schedule::kPhases},
                                                    {"independent", Schedule::kIndependent}});
           }),
      flag("refit_activations", [&](bool value) { fit.refit_activations = value; }),
      whole("activation_samples", 256, std::int64_t{1} << 28,
            [&](std::int64_t value) { fit.activation_samples = static_cast<std::size_t>(value); }),
      whole("input_rows", 256, std::int64_t{1} << 40,
            [&](std::int64_t value) { fit.input_rows = static_cast<std::size_t>(value); }),
      flag("small_ratios", [&](bool value) { fit.small_ratios = value; }),
  };
  keys.insert(keys.end(), own.begin(), own.end());
  const std::vector<Key> reconstruct = reconstruct_keys(fit.reconstruct);
  keys.insert(keys.end(), reconstruct.begin(), reconstruct.end());
  return keys;
}

/// Says so of settings that have no effect on the kind of network.
void refuse_other_kind(const toml::table& table, bool is_language) {
  if (is_language) {
    keys::refuse_keys(table,
                      {"activation_bits", "activation_scheme", "activation_offset",
                       "activation_scales", "activation_group_size", "weight_offset", "calibrator",
                       "percentile", "momentum", "arithmetic"},
                      "is of a recipe for other networks; activations of language models are 8-bit "
                      "integers with a scale for each group");
  } else {
    keys::refuse_keys(table, {"table_type"},
                      "is of a recipe for language models; other networks have [ends]");
  }
}

void refuse_two_systems(const toml::table& table) {
  const toml::node* type = table.get("type");
  for (const std::string_view other : {"scheme", "weight_scheme", "weight_bits", "group_size"}) {
    if (type == nullptr || table.get(other) == nullptr) continue;
    fail_at(*type, "'type' says what '" + std::string(other) + "' says: leave one of them out");
  }
}

/// Reads the settings of layers of a section, which may have more keys.
void read_settings(const toml::table& table, LayerSettings& settings, std::vector<Key> more,
                   const std::string& where, const TypeCheck& check_type) {
  const bool is_language = check_type != nullptr;
  refuse_other_kind(table, is_language);
  refuse_two_systems(table);
  SchemeNames names;
  std::vector<Key> keys = layer_keys(settings, names);
  keys.push_back(type_key(settings, names, check_type));
  keys.insert(keys.end(), more.begin(), more.end());
  read_table(table, keys, where);
  // The activations of language models are none of a scheme's business.
  if (is_language && names.both) names = {.weights = names.weights ? names.weights : names.both};
  try {
    set_systems(settings, names);
  } catch (const Error& error) {
    fail_at(table, where + ": " + error.what());
  }
}

LayerOverride read_override(const toml::table& table, const TypeCheck& check_type) {
  LayerOverride result;
  read_settings(table, result.settings,
                {word("name", [&](const std::string& name) { result.pattern = name; })},
                "[[layer]]", check_type);
  if (result.pattern.empty()) fail_at(table, "[[layer]] needs a name, e.g. name = \"dense1\"");
  result.where = "line " + std::to_string(table.source().begin.line);
  return result;
}

/// Reads [default]. Of language models it may have the type of the ends, which are tables.
void read_defaults(const toml::table& table, Recipe& recipe, const TypeCheck& check_type) {
  std::vector<Key> more;
  if (check_type) {
    more.push_back(word("table_type", [&](const std::string& name) {
      check_type(name);
      recipe.ends.weight_type = name;
    }));
  }
  read_settings(table, recipe.defaults, more, "[default]", check_type);
}

/// Reads [ends], behind [default].
void read_ends(const toml::table& table, Recipe& recipe, const TypeCheck& check_type) {
  if (!recipe.ends.weight_type.empty()) {
    fail_at(table, "[ends] says what 'table_type' says: leave one of them out");
  }
  read_settings(table, recipe.ends, {}, "[ends]", check_type);
}

Recipe read_recipe(const toml::table& root, const TypeCheck& check_type) {
  if (check_type) {
    keys::refuse_keys(root, {"fit"},
                      "is of a recipe for other networks; options say how language models are "
                      "fitted");
  }
  Recipe recipe;
  const std::vector<Key> sections = {
      keys::section("default",
                    [&](const toml::table& table) { read_defaults(table, recipe, check_type); }),
      keys::section("ends",
                    [&](const toml::table& table) { read_ends(table, recipe, check_type); }),
      keys::section(
          "fit",
          [&](const toml::table& table) { read_table(table, fit_keys(recipe.fit), "[fit]"); }),
      keys::sections("layer",
                     [&](const toml::table& table) {
                       recipe.overrides.push_back(read_override(table, check_type));
                     }),
  };
  read_table(root, sections, "the recipe");
  check_choices(root);
  return recipe;
}

}  // namespace

Recipe parse_recipe(std::string_view toml_text, const std::string& name,
                    const TypeCheck& check_type) {
  Recipe recipe;
  keys::read_document(toml_text, name,
                      [&](const toml::table& root) { recipe = read_recipe(root, check_type); });
  for (LayerOverride& each : recipe.overrides) each.where = name + ": " + each.where;
  return recipe;
}

}  // namespace halftone::compress

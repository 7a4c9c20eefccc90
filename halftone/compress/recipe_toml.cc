// SPDX-License-Identifier: Apache-2.0
#include <toml++/toml.h>

#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/recipe.h"

namespace halftone::compress {
namespace {

[[noreturn]] void fail_at(const toml::node& node, const std::string& message) {
  fail(ErrorKind::kUsage, "line " + std::to_string(node.source().begin.line) + ": " + message);
}

/// The type of a key and its destination. One table of these per section is the whole grammar.
struct Key {
  std::string_view name;
  std::function<void(const toml::node&)> read;
};

[[noreturn]] void fail_type(const toml::node& node, std::string_view key, const char* expected) {
  std::ostringstream found;
  found << node.type();
  fail_at(node, "'" + std::string(key) + "': expected " + expected + ", found " + found.str());
}

Key flag(std::string_view key, std::function<void(bool)> store) {
  return {key, [key, store = std::move(store)](const toml::node& node) {
            if (!node.is_boolean()) fail_type(node, key, "true or false");
            store(node.as_boolean()->get());
          }};
}

Key whole(std::string_view key, std::int64_t low, std::int64_t high,
          std::function<void(std::int64_t)> store) {
  return {key, [key, low, high, store = std::move(store)](const toml::node& node) {
            if (!node.is_integer()) fail_type(node, key, "a whole number");
            const std::int64_t value = node.as_integer()->get();
            if (value < low || value > high) {
              fail_at(node, "'" + std::string(key) + "': expected " + std::to_string(low) + " to " +
                                std::to_string(high) + ", found " + std::to_string(value));
            }
            store(value);
          }};
}

/// The shortest form: 1e-09, not 0.000000.
std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Key real(std::string_view key, double low, double high, std::function<void(double)> store) {
  return {key, [key, low, high, store = std::move(store)](const toml::node& node) {
            if (!node.is_number()) fail_type(node, key, "a number");
            // toml++ gives no float64 of an integer that float64 cannot hold.
            const double value = node.is_integer() ? static_cast<double>(node.as_integer()->get())
                                                   : node.as_floating_point()->get();
            if (!(value >= low && value <= high)) {
              fail_at(node, "'" + std::string(key) + "': expected " + text_of(low) + " to " +
                                text_of(high) + ", found " + text_of(value));
            }
            store(value);
          }};
}

Key word(std::string_view key, std::function<void(const std::string&)> store) {
  return {key, [key, store = std::move(store)](const toml::node& node) {
            if (!node.is_string()) fail_type(node, key, "a string");
            try {
              store(node.as_string()->get());
            } catch (const Error& error) {
              fail_at(node, "'" + std::string(key) + "': " + error.what());
            }
          }};
}

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

template <typename T>
T choice(const std::string& found, std::initializer_list<std::pair<const char*, T>> choices) {
  std::string list;
  for (const auto& [name, value] : choices) {
    if (found == name) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  fail(ErrorKind::kUsage, "expected one of " + list + ", found '" + found + "'");
}

void read_table(const toml::table& table, const std::vector<Key>& keys, const std::string& where) {
  for (const auto& [name, node] : table) {
    const auto known = std::ranges::find(keys, name.str(), &Key::name);
    if (known == keys.end()) {
      std::string list;
      for (const Key& key : keys) list.append(list.empty() ? "" : ", ").append(key.name);
      fail_at(node,
              "unknown key '" + std::string(name.str()) + "' in " + where + "; known are: " + list);
    }
    known->read(node);
  }
}

/// A number system, for all that `store` sets.
Key system_key(std::string_view key, std::function<void(const numerics::NumberSystem*)> store) {
  return word(key, [store = std::move(store)](const std::string& name) {
    store(&numerics::find_system(name));
  });
}

/// The number systems of a layer.
std::vector<Key> system_keys(LayerSettings& settings) {
  return {
      word("scheme",
           [&](const std::string& name) {
             if (name == "float") {
               settings.skip = true;
             } else {
               settings.weight_system = settings.activation_system = &numerics::find_system(name);
             }
           }),
      system_key("weight_scheme", [&](auto* system) { settings.weight_system = system; }),
      system_key("activation_scheme", [&](auto* system) { settings.activation_system = system; }),
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

std::vector<Key> layer_keys(LayerSettings& settings) {
  using ir::Arithmetic;
  std::vector<Key> keys = {
      bits("weight_bits", settings.weight_bits),
      bits("activation_bits", settings.activation_bits),
  };
  for (const auto& more : {system_keys(settings), block_keys(settings), range_keys(settings)}) {
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

std::vector<Key> weight_keys(WeightFitOptions& weights) {
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
      flag("error_feedback", [&](bool value) { weights.error_feedback = value; }),
      flag("refine", [&](bool value) { weights.refine = value; }),
      whole("refine_sweeps", 1, 10000,
            [&](std::int64_t value) { weights.refine_sweeps = static_cast<int>(value); }),
      flag("bias_correction", [&](bool value) { weights.bias_correction = value; }),
      real("damping", 1e-9, 1e3, [&](double value) { weights.damping = value; }),
  };
}

std::vector<Key> reconstruct_keys(ReconstructOptions& reconstruct) {
  using Unit = ReconstructUnit;
  return {
      whole("reconstruct_steps", 0, 1000000,
            [&](std::int64_t value) { reconstruct.steps = static_cast<int>(value); }),
      word("reconstruct_rounding",
           [&](const std::string& name) {
             reconstruct.rounding =
                 choice<Rounding>(name, {{"straight-through", Rounding::kStraightThrough},
                                         {"adaptive", Rounding::kAdaptive}});
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
             fit.schedule = choice<Schedule>(
                 name, {{"layerwise", Schedule::kLayerwise}, {"phases", Schedule::kPhases}});
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

/// Rejects keys of a choice that was not made.
/// @param choice  the key and value that they need
void check_keys_of(const toml::table& table, std::initializer_list<const char*> keys,
                   const std::string& choice) {
  for (const char* key : keys) {
    if (const toml::node* node = table.get(key)) {
      fail_at(*node, "'" + std::string(key) + "' is for " + choice +
                         " only: set that, or leave the key out");
    }
  }
}

void check_choices(const toml::table& table, const FitOptions& fit) {
  if (fit.weights.levels.solver != LevelSolver::kGradient) {
    check_keys_of(table, {"learning_rate", "l2_penalty"}, "basis_solver = \"gradient\"");
  }
  if (fit.reconstruct.rounding != Rounding::kAdaptive) {
    check_keys_of(table, {"rounding_penalty"}, "reconstruct_rounding = \"adaptive\"");
  }
}

const toml::table& as_table(const toml::node& node, std::string_view key) {
  if (!node.is_table()) fail_type(node, key, "a table");
  return *node.as_table();
}

LayerOverride read_override(const toml::node& node) {
  LayerOverride result;
  std::vector<Key> keys = layer_keys(result.settings);
  keys.push_back(word("name", [&](const std::string& name) { result.pattern = name; }));
  read_table(as_table(node, "layer"), keys, "[[layer]]");
  if (result.pattern.empty()) fail_at(node, "[[layer]] needs a name, e.g. name = \"dense1\"");
  result.where = "line " + std::to_string(node.source().begin.line);
  return result;
}

Recipe read_recipe(const toml::table& root) {
  Recipe recipe;
  const std::vector<Key> sections = {
      {"default",
       [&](const toml::node& node) {
         read_table(as_table(node, "default"), layer_keys(recipe.defaults), "[default]");
       }},
      {"fit",
       [&](const toml::node& node) {
         const toml::table& table = as_table(node, "fit");
         read_table(table, fit_keys(recipe.fit), "[fit]");
         check_choices(table, recipe.fit);
       }},
      {"layer",
       [&](const toml::node& node) {
         if (!node.is_array()) fail_type(node, "layer", "[[layer]] tables");
         for (const toml::node& each : *node.as_array()) {
           recipe.overrides.push_back(read_override(each));
         }
       }},
  };
  read_table(root, sections, "the recipe");
  return recipe;
}

/// Rejects lines with many dots: each may nest a table, and toml++ destroys nested tables
/// recursively. It limits the nesting of brackets itself.
void check_nesting(std::string_view text) {
  constexpr int kMaxDots = 32;
  int line = 1;
  int dots = 0;
  char before = ' ';
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    }
    // No key has two dots in a row, but comments may.
    const bool is_first_dot = c == '.' && before != '.';
    before = c;
    if (!is_first_dot || ++dots <= kMaxDots) continue;
    fail(ErrorKind::kUsage, "line " + std::to_string(line) + ": expected at most " +
                                std::to_string(kMaxDots) + " dots in a line, found more");
  }
}

}  // namespace

Recipe parse_recipe(std::string_view toml_text, const std::string& name) {
  return with_context(name, [&] {
    check_nesting(toml_text);
    try {
      Recipe recipe = read_recipe(toml::parse(toml_text));
      for (LayerOverride& each : recipe.overrides) each.where = name + ": " + each.where;
      return recipe;
    } catch (const toml::parse_error& error) {
      fail(ErrorKind::kUsage, "line " + std::to_string(error.source().begin.line) + ": " +
                                  std::string(error.description()));
    }
  });
}

}  // namespace halftone::compress

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "halftone/base/toml/keys.h"
#include "halftone/compress/recipe.h"

namespace halftone::compress {
namespace {

/// Lines "key = value" of those settings that are set, or differ from the default.
class Lines {
 public:
  explicit Lines(std::string& text) : text_(text) {}

  void word(std::string_view key, std::string_view value) { put(key, keys::quoted(value)); }
  void flag(std::string_view key, bool value) { put(key, value ? "true" : "false"); }
  template <typename T>
  void number(std::string_view key, T value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    put(key, {digits, end});
  }

  void flag_if(std::string_view key, std::optional<bool> value) {
    if (value) flag(key, *value);
  }
  template <typename T>
  void number_if(std::string_view key, const std::optional<T>& value) {
    if (value) number(key, *value);
  }
  void bits_if(std::string_view key, std::optional<int> bits) {
    if (bits == 0) return word(key, "none");
    number_if(key, bits);
  }
  void system_if(std::string_view key, const numerics::NumberSystem* system) {
    if (system != nullptr) word(key, system->name);
  }
  template <typename T>
  void number_unless(std::string_view key, T value, T usual) {
    if (value != usual) number(key, value);
  }
  void flag_unless(std::string_view key, bool value, bool usual) {
    if (value != usual) flag(key, value);
  }

 private:
  void put(std::string_view key, std::string_view value) {
    text_ += std::string(key) + " = " + std::string(value) + "\n";
  }

  std::string& text_;
};

std::string_view name_of(numerics::Granularity granularity) {
  return granularity == numerics::Granularity::kTensor    ? "tensor"
         : granularity == numerics::Granularity::kChannel ? "channel"
                                                          : "group";
}

std::string_view name_of(ActivationScales scales) {
  return scales == ActivationScales::kFitted   ? "fitted"
         : scales == ActivationScales::kSample ? "sample"
         : scales == ActivationScales::kRow    ? "row"
                                               : "group";
}

std::string_view name_of(Schedule schedule) {
  return schedule == Schedule::kLayerwise ? "layerwise"
         : schedule == Schedule::kPhases  ? "phases"
                                          : "independent";
}

/// Settings without those that have no effect, which parse_recipe() refuses.
/// @param layers  sections that may give them one: of [default] all others
LayerSettings with_effect(LayerSettings settings, std::span<const LayerOverride> layers) {
  const auto some = [&](const auto& makes_choice) {
    return std::ranges::any_of(
        layers, [&](const LayerOverride& layer) { return makes_choice(layer.settings); });
  };
  if (settings.skip == true && !some([](const auto& s) { return s.skip == false; })) {
    LayerSettings only;
    only.skip = true;
    return only;
  }
  if (settings.weight_bits == 0 && !some([](const auto& s) { return s.weight_bits > 0; })) {
    settings.weight_system = nullptr;
    settings.weight_offset.reset();
    settings.granularity.reset();
    settings.group_size.reset();
  }
  if (settings.activation_bits == 0 && !some([](const auto& s) { return s.activation_bits > 0; })) {
    settings.activation_system = nullptr;
    settings.activation_offset.reset();
    settings.activation_scales.reset();
    settings.activation_group_size.reset();
    settings.calibrator.reset();
    settings.percentile.reset();
    settings.momentum.reset();
  }
  return settings;
}

void add_settings(Lines& lines, const LayerSettings& settings) {
  lines.system_if("weight_scheme", settings.weight_system);
  lines.system_if("activation_scheme", settings.activation_system);
  const bool has_vectors =
      settings.weight_system != nullptr && settings.weight_system->vectors != nullptr;
  if (!has_vectors || settings.weight_bits == 0) {
    lines.bits_if("weight_bits", settings.weight_bits);
  }
  lines.bits_if("activation_bits", settings.activation_bits);
  lines.flag_if("weight_offset", settings.weight_offset);
  lines.flag_if("activation_offset", settings.activation_offset);
  if (settings.granularity) lines.word("granularity", name_of(*settings.granularity));
  lines.number_if("group_size", settings.group_size);
  if (settings.activation_scales) {
    lines.word("activation_scales", name_of(*settings.activation_scales));
  }
  lines.number_if("activation_group_size", settings.activation_group_size);
  if (settings.calibrator) lines.word("calibrator", to_string(*settings.calibrator));
  lines.number_if("percentile", settings.percentile);
  lines.number_if("momentum", settings.momentum);
  lines.flag_if("skip", settings.skip);
  if (settings.arithmetic) lines.word("arithmetic", to_string(*settings.arithmetic));
}

void add_weights(Lines& lines, const MatrixFitOptions& weights) {
  const MatrixFitOptions usual;
  const bool by_gradient = weights.levels.solver == LevelSolver::kGradient;
  if (by_gradient) lines.word("basis_solver", "gradient");
  lines.number_unless("iterations", weights.levels.iterations, usual.levels.iterations);
  if (by_gradient) {
    lines.number("learning_rate", weights.levels.learning_rate);
    lines.number("l2_penalty", weights.levels.l2_penalty);
  }
  lines.flag_unless("input_weighted", weights.input_weighted, usual.input_weighted);
  lines.flag_unless("error_feedback", weights.feedback, usual.feedback);
  lines.flag_unless("refine", weights.refine, usual.refine);
  if (weights.refine) {
    lines.number_unless("refine_sweeps", weights.refine_sweeps, usual.refine_sweeps);
  }
  lines.flag_unless("bias_correction", weights.bias_correction, usual.bias_correction);
  if (weights.refine || weights.feedback) {
    lines.number_unless("damping", weights.damping.uniform, usual.damping.uniform);
  }
}

void add_reconstruction(Lines& lines, const ReconstructOptions& options) {
  const ReconstructOptions usual;
  if (options.steps == 0) return;
  lines.number("reconstruct_steps", options.steps);
  const bool is_adaptive = options.rounding == ReconstructRounding::kAdaptive;
  if (is_adaptive) lines.word("reconstruct_rounding", "adaptive");
  if (options.unit == ReconstructUnit::kLayer) lines.word("reconstruct_unit", "layer");
  lines.number_unless("reconstruct_batch", options.batch, usual.batch);
  lines.number_unless("reconstruct_samples", options.samples, usual.samples);
  lines.number_unless("drop", options.drop, usual.drop);
  lines.number_if("weight_rate", options.weight_rate);
  lines.number_unless("level_rate", options.level_rate, usual.level_rate);
  lines.number_unless("bias_rate", options.bias_rate, usual.bias_rate);
  if (is_adaptive) lines.number("rounding_penalty", options.rounding_penalty);
}

void add_fit(Lines& lines, const FitOptions& fit) {
  const FitOptions usual;
  lines.flag_unless("equalize", fit.equalize, usual.equalize);
  if (fit.schedule != usual.schedule) lines.word("schedule", name_of(fit.schedule));
  const bool is_layerwise = fit.schedule == Schedule::kLayerwise;
  if (is_layerwise) {
    lines.flag_unless("refit_activations", fit.refit_activations, usual.refit_activations);
  }
  lines.number_unless("activation_samples", fit.activation_samples, usual.activation_samples);
  const MatrixFitOptions& weights = fit.weights;
  if (weights.refine || weights.feedback || weights.input_weighted || weights.bias_correction) {
    lines.number_unless("input_rows", fit.input_rows, usual.input_rows);
  }
  lines.flag_unless("small_ratios", fit.small_ratios, usual.small_ratios);
  add_weights(lines, fit.weights);
  if (is_layerwise) add_reconstruction(lines, fit.reconstruct);
}

/// A table with this heading, if it has any lines.
template <typename Add>
std::string table(const std::string& heading, const Add& add) {
  std::string lines;
  Lines writer(lines);
  add(writer);
  return lines.empty() ? "" : heading + "\n" + lines + "\n";
}

}  // namespace

std::string to_toml(const Recipe& recipe) {
  std::string text = table("[default]", [&](Lines& lines) {
    add_settings(lines, with_effect(recipe.defaults, recipe.overrides));
  });
  text += table("[ends]", [&](Lines& lines) { add_settings(lines, with_effect(recipe.ends, {})); });
  text += table("[fit]", [&](Lines& lines) { add_fit(lines, recipe.fit); });
  for (const LayerOverride& each : recipe.overrides) {
    text += table("[[layer]]", [&](Lines& lines) {
      lines.word("name", each.pattern);
      add_settings(lines, with_effect(each.settings, {}));
    });
  }
  if (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace halftone::compress

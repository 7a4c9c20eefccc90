// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/sensitivity.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "halftone/accel/explore/sensitivity_state.h"
#include "halftone/base/error.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/layers.h"

namespace halftone::accel {
namespace {

/// A shell pattern that matches this name only.
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

compress::LayerOverride override_for(const LayerChoice& layer) {
  compress::LayerOverride result{pattern_of(layer.name), {}};
  result.settings.weight_bits = layer.bits.weights;
  result.settings.activation_bits = layer.bits.inputs;
  result.settings.skip = false;
  return result;
}

/// Quotes as TOML: the pattern may have backslashes, and names are not checked.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// This layer alone is quantized.
compress::Recipe alone(const compress::Recipe& recipe, const LayerChoice& layer) {
  compress::Recipe result = recipe;
  compress::LayerOverride others{"*", {}};
  others.settings.skip = true;
  result.overrides.push_back(others);
  result.overrides.push_back(override_for(layer));
  return result;
}

/// A part of a progress that runs from `done` to `done + 1` of `all`.
ProgressSink part_of_progress(const ProgressSink& sink, std::size_t done, std::size_t all,
                              const std::string& activity) {
  if (!sink) return {};
  return [=](double fraction, std::string_view) {
    sink((static_cast<double>(done) + fraction) / static_cast<double>(all), activity);
  };
}

}  // namespace

compress::Recipe with_bits(const compress::Recipe& recipe, std::span<const LayerChoice> layers) {
  compress::Recipe result = recipe;
  for (const LayerChoice& layer : layers) result.overrides.push_back(override_for(layer));
  return result;
}

std::string bits_toml(std::span<const LayerChoice> layers) {
  std::string text;
  for (const LayerChoice& layer : layers) {
    text += fmt::format("\n[[layer]]\nname = {}\nweight_bits = {}\nactivation_bits = {}\n",
                        quoted(pattern_of(layer.name)), layer.bits.weights, layer.bits.inputs);
  }
  return text;
}

std::vector<std::string> searched_layers(const ir::Graph& graph, const compress::Recipe& recipe) {
  const ir::Graph layered = compress::with_layers(graph, recipe);
  std::vector<std::string> names;
  for (const ir::NodeId id : compress::quantizable_layers(layered)) {
    const std::string& name = layered.node(id).name;
    const compress::LayerRecipe layer = recipe.for_layer(name);
    if (layer.weights || layer.activations) names.push_back(name);
  }
  if (names.empty()) {
    fail(ErrorKind::kUnsupported, "the recipe keeps all layers float: there are no bits to choose",
         Hint::kRecipe);
  }
  return names;
}

Loss measure_loss(const Measurement& on, const compress::Recipe& recipe,
                  const ProgressSink& progress) {
  compress::QuantizeOptions options = on.options;
  options.progress = progress;
  const compress::QuantizeResult quantized =
      compress::quantize(on.graph, on.samples, recipe, options);
  compress::EvaluateOptions how;
  how.batch = on.batch;
  how.devices = on.options.devices;
  how.execution.float_order = runtime::FloatOrder::kFixed;
  const compress::Evaluation result =
      compress::evaluate(quantized.graph, on.evaluation, &on.graph, how);
  const compress::Comparison& reference = *result.reference;
  // Fractions of whole samples, so that 5 of 500 are 0.01 and not a little more.
  const auto samples = static_cast<double>(result.samples);
  const double lost =
      reference.value ? std::round(*reference.value * samples) - std::round(result.value * samples)
                      : samples - std::round(reference.agreement * samples);
  return {std::pow(10, -reference.sqnr_db / 10), lost / samples};
}

std::vector<LayerSensitivity> measure_sensitivities(const Measurement& on, const Space& space,
                                                    const std::filesystem::path& state) {
  const std::vector<std::string> layers = searched_layers(on.graph, on.recipe);
  static_cast<void>(space.ties_of(layers));
  SensitivityState kept(state, on);
  std::vector<LayerSensitivity> result;
  std::size_t all = 0;
  for (const std::string& name : layers) {
    result.push_back({name, space.pairs_of(name), {}});
    all += result.back().pairs.size();
  }
  std::size_t done = 0;
  for (LayerSensitivity& layer : result) {
    for (const BitPair& bits : layer.pairs) {
      const LayerChoice choice{layer.name, bits};
      std::optional<Loss> loss = kept.find(choice);
      if (!loss) {
        const std::string activity =
            fmt::format("measuring {} with {} and {} bits", layer.name, bits.weights, bits.inputs);
        loss = measure_loss(on, alone(on.recipe, choice),
                            part_of_progress(on.options.progress, done, all, activity));
        kept.add(choice, *loss);
      }
      layer.losses.push_back(*loss);
      ++done;
    }
  }
  return result;
}

}  // namespace halftone::accel

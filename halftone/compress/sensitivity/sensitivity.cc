// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/layer_errors.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/compress/sensitivity/tied_layers.h"

namespace halftone::compress {
namespace {

/// The name of the choice that a quantized network has made.
constexpr const char* kOwnChoice = "model";
/// Of the weights, where noise takes the place of gradients: 20 dB below them.
constexpr double kNoiseRatio = 0.1;

/// A network in one choice, fitted in two ways.
struct FittedChoice {
  ir::Graph alone;     ///< each layer on float values
  ir::Graph in_order;  ///< each layer on those of the layers before it
  /// As for sensitivity_of().
  std::vector<std::optional<StoredWeights>> stored{};
};

/// A network whose layers have uniform noise on their weights. (Normal numbers need functions of
/// the C library, whose last bit differs between systems.)
ir::Graph noisy_network(const ir::Graph& reference, const std::vector<ir::NodeId>& layers,
                        std::uint64_t seed) {
  ir::Graph result = reference;
  Random random(seed);
  for (const ir::NodeId id : layers) {
    const ir::Node node = result.node(id);
    const std::size_t input = weights_input(node.op);
    ir::Tensor weights = std::get<ir::Tensor>(*result.constant(node.inputs[input])).clone();
    const std::span<float> w = weights.as<float>();
    double power = 0;
    for (const float x : w) power += static_cast<double>(x) * x;
    // A uniform number in [-a, a) has the variance a^2 / 3.
    const double most = kNoiseRatio * std::sqrt(3 * power / static_cast<double>(w.size()));
    for (float& x : w) x += static_cast<float>(most * (2 * random.uniform() - 1));
    std::vector<ir::ValueId> inputs = node.inputs;
    inputs[input] = result.add_constant(node.name + "/noisy", std::move(weights));
    result.replace_node(id, node.op, std::move(inputs));
  }
  return result;
}

/// The layers and units of a network.
Sensitivity described(const ir::Graph& network, const std::vector<ir::NodeId>& layers) {
  Sensitivity result;
  for (const ir::NodeId id : layers) {
    const LayerReport report = report_layer(network, id, network, id);
    const ir::Node& node = network.node(id);
    const ir::ValueId weights = node.inputs[weights_input(node.op)];
    const auto [rows, cols] = ir::matrix_extent(network.value(weights).type.shape);
    result.layers.push_back(
        {report.name, report.op, report.float_bytes, "F32", rows, cols, report.float_bytes});
  }
  for (auto& unit : tied_layers(network, layers)) result.units.push_back({std::move(unit)});
  return result;
}

/// The bytes of a unit: layers that share weights have one code of them.
std::size_t bytes_of(const ir::Graph& network, const std::vector<ir::NodeId>& layers,
                     const SensitiveUnit& unit, const ChoiceSensitivity& choice) {
  std::set<ir::ValueId> counted;
  std::size_t bytes = 0;
  for (const std::size_t layer : unit.layers) {
    const ir::Node& node = network.node(layers[layer]);
    const bool is_new = counted.insert(node.inputs[weights_input(node.op)]).second;
    if (is_new) bytes += choice.layers[layer].bytes;
  }
  return bytes;
}

/// The pairs of these layers, of all layers with weights.
std::vector<LayerPair> pairs_of_layers(const ir::Graph& reference, const ir::Graph& quantized,
                                       const std::vector<ir::NodeId>& layers) {
  std::vector<LayerPair> pairs;
  for (const LayerPair& pair : paired_layers(reference, quantized)) {
    if (std::ranges::count(layers, pair.original) > 0) pairs.push_back(pair);
  }
  return pairs;
}

class SensitivityRun {
 public:
  SensitivityRun(const ir::Graph& reference, const data::Dataset& data,
                 std::vector<ir::NodeId> layers, const MeasureSettings& options)
      : reference_(reference),
        data_(data),
        layers_(std::move(layers)),
        options_(options),
        meter_(reference, data, options.loss.value_or(default_loss(reference, data)),
               {options.fit.devices, options.batch, options.fit.resize}) {
    result = described(reference, layers_);
    result.loss = to_string(meter_.output_loss().kind());
    result.samples = data.size();
    by_gradients_ = meter_.has_gradients(pairs_of(reference));
    result.weighted_by = by_gradients_ ? "gradients" : "noise";
  }

  ChoiceSensitivity measure(const std::string& name, const FittedChoice& fitted,
                            const ProgressSink& progress) {
    ChoiceSensitivity choice{name, {}, {}};
    const std::vector<LayerPair> alone = pairs_of(fitted.alone);
    const std::vector<LayerPair> in_order = pairs_of(fitted.in_order);
    add_layers(choice, fitted, alone, in_order);
    std::vector<LayerPair> before;
    for (std::size_t u = 0; u < result.units.size(); ++u) {
      const SensitiveUnit& unit = result.units[u];
      if (progress) {
        progress(static_cast<double>(u) / static_cast<double>(result.units.size()),
                 name + ": " + result.layers[unit.layers[0]].name);
      }
      const std::vector<LayerPair> own = pairs_in(unit, in_order);
      before.insert(before.end(), own.begin(), own.end());
      choice.units.push_back({bytes_of(reference_, layers_, unit, choice),
                              meter_.loss(fitted.alone, pairs_in(unit, alone)),
                              meter_.loss(fitted.in_order, before)});
    }
    add_costs(choice, fitted.in_order, in_order);
    return choice;
  }

  Sensitivity result;

 private:
  [[nodiscard]] std::vector<LayerPair> pairs_of(const ir::Graph& quantized) const {
    return pairs_of_layers(reference_, quantized, layers_);
  }

  static std::vector<LayerPair> pairs_in(const SensitiveUnit& unit,
                                         const std::vector<LayerPair>& pairs) {
    std::vector<LayerPair> chosen;
    for (const std::size_t layer : unit.layers) chosen.push_back(pairs[layer]);
    return chosen;
  }

  void add_layers(ChoiceSensitivity& choice, const FittedChoice& fitted,
                  const std::vector<LayerPair>& alone, const std::vector<LayerPair>& in_order) {
    const auto single = errors_alone(fitted.alone, alone);
    const auto accumulated =
        distortions_in_order(reference_, fitted.in_order, in_order, data_, run_options());
    const auto weighted = weighted_errors(fitted.alone, alone, single);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const LayerReport report =
          report_layer(reference_, layers_[i], fitted.in_order, in_order[i].quantized);
      choice.layers.push_back({report.weight_bits, report.activation_bits, report.encoded_bytes,
                               single[i].sqnr_db(), accumulated[i].sqnr_db(), weighted[i]});
      if (i >= fitted.stored.size() || !fitted.stored[i]) continue;
      choice.layers[i].weight_bits = fitted.stored[i]->bits;
      choice.layers[i].bytes = fitted.stored[i]->bytes;
    }
  }

  [[nodiscard]] LayerErrorOptions run_options() const {
    // The same runs as those of quantize(), whatever the network's size: so equal errors are equal.
    return {
        {}, options_.fit.devices, std::numeric_limits<std::uint64_t>::max(), options_.fit.resize};
  }

  [[nodiscard]] std::vector<numerics::Distortion> errors_alone(
      const ir::Graph& quantized, const std::vector<LayerPair>& pairs) const {
    return distortions_alone(reference_, quantized, pairs, data_, run_options());
  }

  /// @param errors  of the layer outputs
  [[nodiscard]] std::vector<double> weighted_errors(
      const ir::Graph& alone, const std::vector<LayerPair>& pairs,
      const std::vector<numerics::Distortion>& errors) {
    if (by_gradients_) return meter_.weighted_errors(alone, pairs, options_.fit.seed);
    measure_noise();
    std::vector<double> weighted;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      weighted.push_back(loss_per_noise_[i] * errors[i].noise());
    }
    return weighted;
  }

  /// The loss that noise on a layer's output causes, by its power: measured with noisy weights.
  void measure_noise() {
    if (!loss_per_noise_.empty()) return;
    const ir::Graph noisy = noisy_network(reference_, layers_, options_.fit.seed);
    const std::vector<LayerPair> pairs = pairs_of(noisy);
    const auto errors = errors_alone(noisy, pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const double noise = errors[i].noise();
      loss_per_noise_.push_back(noise == 0 ? 0 : meter_.loss(noisy, {&pairs[i], 1}) / noise);
    }
  }

  void add_costs(ChoiceSensitivity& choice, const ir::Graph& network,
                 const std::vector<LayerPair>& pairs) const {
    if (!options_.costs) return;
    std::vector<std::string> names;
    for (const LayerPair& pair : pairs) names.push_back(network.node(pair.quantized).name);
    compress::add_costs(choice, options_.costs(network, names));
  }

  const ir::Graph& reference_;
  const data::Dataset& data_;
  std::vector<ir::NodeId> layers_;
  const MeasureSettings& options_;
  LossMeter meter_;
  bool by_gradients_ = true;            ///< how errors are weighted; else by noise
  std::vector<double> loss_per_noise_;  ///< by layer; empty until needed
};

/// Quantizes the network in one choice.
FittedChoice fit_choice(const ir::Graph& network, const data::Dataset& data, Recipe recipe,
                        const QuantizeSettings& options) {
  QuantizeSettings half = options;
  recipe.fit.schedule = Schedule::kIndependent;
  half.progress = part_of(options.progress, 0, 0.5);
  ir::Graph alone = quantize(network, data, recipe, half).graph;
  recipe.fit.schedule = Schedule::kLayerwise;
  half.progress = part_of(options.progress, 0.5, 1);
  return {std::move(alone), quantize(network, data, recipe, half).graph};
}

/// Whether some of the choices give a layer different number systems.
bool has_choice(const Recipe& recipe, const std::string& layer,
                const std::vector<LayerChoice>& choices) {
  const LayerRecipe first = with_choice(recipe, choices[0]).for_layer(layer);
  return std::ranges::any_of(choices, [&](const LayerChoice& choice) {
    const LayerRecipe other = with_choice(recipe, choice).for_layer(layer);
    return other.weights != first.weights || other.activations != first.activations;
  });
}

void mark_units(Sensitivity& result, const Recipe& recipe,
                const std::vector<LayerChoice>& choices) {
  for (SensitiveUnit& unit : result.units) {
    unit.may_change = std::ranges::any_of(unit.layers, [&](std::size_t layer) {
      return has_choice(recipe, result.layers[layer].name, choices);
    });
  }
}

void check_choices(const std::vector<LayerChoice>& choices) {
  if (choices.empty()) fail(ErrorKind::kUsage, "choices: expected one or more, found none");
}

/// All choices: those that a run before has measured, and those that `measure` measures now.
/// @param measure  of a choice and its part of the progress
template <typename Measure>
std::vector<ChoiceSensitivity> measured_choices(const std::vector<LayerChoice>& choices,
                                                const MeasureSettings& options,
                                                const Measure& measure) {
  std::vector<ChoiceSensitivity> result;
  for (const LayerChoice& choice : choices) {
    auto known = options.known ? options.known(choice.name) : std::nullopt;
    if (known) {
      result.push_back(std::move(*known));
      continue;
    }
    const auto count = static_cast<double>(choices.size());
    const auto done = static_cast<double>(result.size());
    result.push_back(
        measure(choice, part_of(options.fit.progress, done / count, (done + 1) / count)));
    if (options.measured) options.measured(result.back());
  }
  return result;
}

/// Whether a layer that is quantized alone has the same codes as with Schedule::kIndependent.
bool is_fitted_alone(const FitOptions& fit) {
  return fit.schedule == Schedule::kIndependent ||
         (fit.schedule == Schedule::kLayerwise && fit.reconstruct.steps == 0);
}

/// Measures losses_alone().
class SingleLayers {
 public:
  SingleLayers(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
               const MeasureSettings& options)
      : network_(with_layers(graph, recipe)),
        data_(data),
        samples_(options.evaluation != nullptr ? *options.evaluation : data),
        recipe_(recipe),
        options_(options),
        meter_(network_, samples_, options.loss.value_or(default_loss(network_, samples_)),
               {options.fit.devices, options.batch, options.fit.resize}) {
    recipe_.fit.equalize = false;  // which needs two quantized layers
    for (const ir::NodeId id : quantizable_layers(network_)) {
      const LayerRecipe layer = recipe.for_layer(network_.node(id).name);
      if (layer.weights || layer.activations) layers_.push_back(id);
    }
  }

  [[nodiscard]] Sensitivity description() const {
    Sensitivity result = described(network_, layers_);
    result.units.clear();
    for (std::size_t i = 0; i < layers_.size(); ++i) result.units.push_back({{i}});
    result.loss = to_string(meter_.output_loss().kind());
    result.samples = samples_.size();
    result.on_fit_samples = options_.evaluation == nullptr;
    return result;
  }

  [[nodiscard]] ChoiceSensitivity measure(const LayerChoice& choice,
                                          const ProgressSink& progress) const {
    ChoiceSensitivity result{choice.name, {}, {}};
    const double each = 1 / static_cast<double>(layers_.size());
    const bool together = is_fitted_alone(recipe_.fit);
    ir::Graph fitted;
    std::vector<LayerPair> pairs;
    if (together) {
      fitted = fit(layers_, choice, part_of(progress, 0, 0.5));
      pairs = pairs_of_layers(network_, fitted, layers_);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::string& name = network_.node(layers_[i]).name;
      const double done = each * static_cast<double>(i);
      if (!together) {
        fitted = fit({&layers_[i], 1}, choice, part_of(progress, done, done + each));
        pairs = pairs_of_layers(network_, fitted, layers_);
      }
      if (together && progress) progress(0.5 + 0.5 * done, choice.name + ": " + name);
      const LayerPair& pair = pairs[i];
      const LayerReport report = report_layer(network_, pair.original, fitted, pair.quantized);
      const LossAndDrop found = meter_.loss_and_drop(fitted, {&pair, 1});
      result.layers.push_back({report.weight_bits, report.activation_bits, report.encoded_bytes});
      result.units.push_back({report.encoded_bytes, found.loss, {}, found.drop});
    }
    return result;
  }

 private:
  /// The network with these layers quantized, each as if it were the only one.
  [[nodiscard]] ir::Graph fit(std::span<const ir::NodeId> layers, const LayerChoice& choice,
                              const ProgressSink& progress) const {
    Recipe recipe = recipe_;
    if (layers.size() > 1) recipe.fit.schedule = Schedule::kIndependent;
    LayerSettings skipped;
    skipped.skip = true;
    for (const ir::NodeId id : quantizable_layers(network_)) {
      recipe.overrides.push_back({literal_pattern(network_.node(id).name),
                                  std::ranges::count(layers, id) > 0 ? choice.settings : skipped});
    }
    QuantizeSettings options = options_.fit;
    options.progress = progress;
    return quantize(network_, data_, recipe, options).graph;
  }

  ir::Graph network_;
  const data::Dataset& data_;
  const data::Dataset& samples_;
  Recipe recipe_;
  const MeasureSettings& options_;
  LossMeter meter_;
  std::vector<ir::NodeId> layers_;
};

/// The network with layers for all products that a choice wants encoded, equalized if the recipe
/// says so.
ir::Graph layers_for_all(const ir::Graph& graph, Recipe& recipe,
                         const std::vector<LayerChoice>& choices) {
  ir::Graph network = graph;
  for (const LayerChoice& choice : choices) {
    network = with_layers(network, with_choice(recipe, choice));
  }
  const auto coded = std::ranges::find_if_not(choices, &LayerChoice::is_float);
  if (coded != choices.end()) equalize_layers(network, with_choice(recipe, *coded));
  recipe.fit.equalize = false;
  return network;
}

}  // namespace

void add_costs(ChoiceSensitivity& choice, const RunCosts& costs) {
  const bool is_timed = !costs.layer_us.empty();
  const bool has_energy = !costs.layer_pj.empty();
  const bool is_counted = !costs.layer_instructions.empty();
  if (is_timed) choice.us = costs.us;
  if (has_energy) choice.pj = costs.pj;
  if (is_counted) choice.instructions = costs.instructions;
  for (std::size_t i = 0; i < choice.layers.size(); ++i) {
    LayerSensitivity& layer = choice.layers[i];
    if (is_timed) layer.us = costs.layer_us[i];
    if (has_energy) layer.pj = costs.layer_pj[i];
    if (is_counted) layer.instructions = costs.layer_instructions[i];
  }
}

Sensitivity sensitivity(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                        const std::vector<LayerChoice>& choices, const MeasureSettings& options) {
  check_choices(choices);
  Recipe rules = with_ends(graph, recipe);
  const ir::Graph network = layers_for_all(graph, rules, choices);
  const bool is_apart = options.evaluation != nullptr;
  ScreenedData samples = screened(network, is_apart ? *options.evaluation : data,
                                  options.fit.devices, options.fit.resize);
  SensitivityRun run(network, samples.data, quantizable_layers(network), options);
  run.result.warnings = std::move(samples.warnings);
  mark_units(run.result, rules, choices);
  run.result.on_fit_samples = !is_apart;
  run.result.choices = measured_choices(choices, options, [&](const LayerChoice& choice, auto own) {
    QuantizeSettings fit = options.fit;
    fit.progress = part_of(own, 0, 0.6);
    const FittedChoice fitted = with_context("choice '" + choice.name + "'", [&] {
      return fit_choice(network, data, with_choice(rules, choice), fit);
    });
    return run.measure(choice.name, fitted, part_of(own, 0.6, 1));
  });
  return std::move(run.result);
}

Sensitivity losses_alone(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                         const std::vector<LayerChoice>& choices, const MeasureSettings& options) {
  check_choices(choices);
  const SingleLayers single(graph, data, recipe, options);
  Sensitivity result = single.description();
  result.choices = measured_choices(choices, options, [&](const LayerChoice& choice, auto own) {
    return with_context("choice '" + choice.name + "'",
                        [&] { return single.measure(choice, own); });
  });
  return result;
}

Sensitivity sizes_by_rule(const ir::Graph& graph, const Recipe& recipe,
                          const std::vector<LayerChoice>& choices) {
  check_choices(choices);
  Recipe rules = with_ends(graph, recipe);
  const ir::Graph network = layers_for_all(graph, rules, choices);
  const std::vector<ir::NodeId> layers = quantizable_layers(network);
  Sensitivity result = described(network, layers);
  mark_units(result, rules, choices);
  for (const LayerChoice& each : choices) {
    const ir::Graph coded = with_rule_codes(network, with_choice(rules, each));
    ChoiceSensitivity choice{each.name, {}, {}};
    for (const LayerPair& pair : pairs_of_layers(network, coded, layers)) {
      const LayerReport report = report_layer(network, pair.original, coded, pair.quantized);
      choice.layers.push_back({report.weight_bits, report.activation_bits, report.encoded_bytes});
    }
    for (const SensitiveUnit& unit : result.units) {
      choice.units.push_back({bytes_of(network, layers, unit, choice)});
    }
    result.choices.push_back(std::move(choice));
  }
  return result;
}

Sensitivity sensitivity_of(const ir::Graph& quantized, const ir::Graph& reference,
                           const data::Dataset& data, const MeasureSettings& options,
                           const std::vector<std::optional<StoredWeights>>& stored) {
  std::vector<ir::NodeId> layers;
  for (const LayerPair& pair : paired_layers(reference, quantized)) layers.push_back(pair.original);
  ScreenedData samples = screened(reference, data, options.fit.devices, options.fit.resize);
  SensitivityRun run(reference, samples.data, std::move(layers), options);
  run.result.warnings = std::move(samples.warnings);
  run.result.choices.push_back(
      run.measure(kOwnChoice, {quantized, quantized, stored}, options.fit.progress));
  run.result.on_fit_samples = false;  // those of the fit are not known
  for (SensitiveUnit& unit : run.result.units) unit.may_change = false;
  return std::move(run.result);
}

}  // namespace halftone::compress

// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/sensitivity.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/compress/sensitivity/sensitivity_run.h"
#include "halftone/compress/stage_networks.h"

namespace halftone::compress {
namespace {

/// The name of the choice that a quantized network has made.
constexpr const char* kOwnChoice = "model";

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

namespace {

/// Adds what was measured of a choice in a later stage.
void append(ChoiceSensitivity& all, const ChoiceSensitivity& more) {
  all.layers.insert(all.layers.end(), more.layers.begin(), more.layers.end());
  all.units.insert(all.units.end(), more.units.begin(), more.units.end());
  for (const auto cost :
       {&ChoiceSensitivity::us, &ChoiceSensitivity::pj, &ChoiceSensitivity::instructions}) {
    if (more.*cost) all.*cost = (all.*cost).value_or(0) + *(more.*cost);
  }
}

/// Adds the layers and units of a stage; what was measured how is that of the first one.
void append(Sensitivity& all, const Sensitivity& more) {
  if (all.loss.empty()) {
    all.loss = more.loss;
    all.weighted_by = more.weighted_by;
    all.samples = more.samples;
  }
  const std::size_t before = all.layers.size();
  all.layers.insert(all.layers.end(), more.layers.begin(), more.layers.end());
  for (SensitiveUnit unit : more.units) {
    for (std::size_t& layer : unit.layers) layer += before;
    all.units.push_back(std::move(unit));
  }
  all.warnings.insert(all.warnings.end(), more.warnings.begin(), more.warnings.end());
}

/// The loss that all stages have; kError where their own ones differ.
LossKind common_loss(const std::vector<StageNetwork>& stages) {
  std::optional<LossKind> common;
  for (const StageNetwork& stage : stages) {
    if (!stage.data || quantizable_layers(stage.graph).empty()) continue;
    const LossKind own = default_loss(stage.graph, *stage.data);
    common = common && *common != own ? LossKind::kError : own;
    if (*common == LossKind::kError) break;
  }
  return common.value_or(LossKind::kError);
}

/// Measures one stage of a network in choices.
class StageRun {
 public:
  /// @param fit       the stage with the samples of the fit; outlives this
  /// @param measured  the same with those that losses are measured on
  StageRun(const StageNetwork& fit, const StageNetwork& measured, Recipe rules,
           const MeasureSettings& options)
      : fit_(fit),
        rules_(std::move(rules)),
        options_(options),
        samples_(screened(measured.graph, *measured.data, options.fit.devices, measured.resize)) {
    options_.fit.resize = measured.resize;
    run_.emplace(measured.graph, samples_.data, quantizable_layers(measured.graph), options_);
    run_->result.warnings = std::move(samples_.warnings);
  }

  [[nodiscard]] Sensitivity& description() { return run_->result; }

  ChoiceSensitivity measure(const LayerChoice& choice, const ProgressSink& progress) {
    QuantizeSettings how = options_.fit;
    how.resize = fit_.resize;
    how.progress = part_of(progress, 0, 0.6);
    const FittedChoice fitted = with_context("choice '" + choice.name + "'", [&] {
      return fit_choice(fit_.graph, *fit_.data, with_choice(rules_, choice), how);
    });
    return run_->measure(choice.name, fitted, part_of(progress, 0.6, 1));
  }

 private:
  const StageNetwork& fit_;
  Recipe rules_;
  MeasureSettings options_;
  ScreenedData samples_;
  std::optional<SensitivityRun> run_;
};

/// A stage that no sample reaches: it stays float in each choice.
Sensitivity unreached(const StageNetwork& stage, Recipe rules,
                      const std::vector<LayerChoice>& choices) {
  LayerSettings skipped;
  skipped.skip = true;
  rules.overrides.push_back({"*", skipped});
  return sizes_by_rule(stage.open.graph, rules, choices);
}

/// All stages of a network that have layers.
class StageRuns {
 public:
  StageRuns(const ir::Graph& network, const data::Dataset& data, const Recipe& rules,
            const std::vector<LayerChoice>& choices, const MeasureSettings& options)
      : fit_(stage_networks(network, data, options.fit.resize)),
        measured_(options.evaluation == nullptr
                      ? fit_
                      : stage_networks(network, *options.evaluation, options.fit.resize)) {
    MeasureSettings how = options;
    if (!how.loss) how.loss = common_loss(measured_);
    for (std::size_t s = 0; s < fit_.size(); ++s) {
      const std::vector<std::string> names = layer_names(fit_[s].open.graph);
      if (quantizable_layers(fit_[s].open.graph).empty()) continue;
      const Recipe own = recipe_for_layers(rules, names);
      if (fit_[s].data && measured_[s].data) {
        runs_.push_back(std::make_unique<StageRun>(fit_[s], measured_[s], own, how));
        mark_units(runs_.back()->description(), own, choices);
        append(result, runs_.back()->description());
      } else {
        runs_.push_back(nullptr);
        unreached_.push_back(unreached(fit_[s], own, choices));
        append(result, unreached_.back());
      }
    }
  }

  ChoiceSensitivity measure(const LayerChoice& choice, const ProgressSink& progress) {
    ChoiceSensitivity all{choice.name, {}, {}};
    const auto count = static_cast<double>(runs_.size());
    auto other = unreached_.begin();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const auto done = static_cast<double>(i);
      if (runs_[i] != nullptr) {
        append(all, runs_[i]->measure(choice, part_of(progress, done / count, (done + 1) / count)));
      } else {
        const auto& choices = (other++)->choices;
        append(all, *std::ranges::find(choices, choice.name, &ChoiceSensitivity::name));
      }
    }
    return all;
  }

  Sensitivity result;  ///< without choices

 private:
  std::vector<StageNetwork> fit_;
  std::vector<StageNetwork> measured_;
  std::vector<std::unique_ptr<StageRun>> runs_;  ///< null: no sample reaches the stage
  std::vector<Sensitivity> unreached_;
};

}  // namespace

Sensitivity sensitivity(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                        const std::vector<LayerChoice>& choices, const MeasureSettings& options) {
  check_choices(choices);
  Recipe rules = with_ends(graph, recipe);
  const ir::Graph network = layers_for_all(graph, rules, choices);
  StageRuns runs(network, data, rules, choices, options);
  Sensitivity result = std::move(runs.result);
  result.on_fit_samples = options.evaluation == nullptr;
  result.choices = measured_choices(choices, options, [&](const LayerChoice& choice, auto own) {
    return runs.measure(choice, own);
  });
  return result;
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

namespace {

/// sizes_by_rule() of a stage, whose products are layers.
Sensitivity sizes_of_stage(const ir::Graph& stage, const Recipe& rules,
                           const std::vector<LayerChoice>& choices) {
  const std::vector<ir::NodeId> layers = quantizable_layers(stage);
  Sensitivity result = described(stage, layers);
  mark_units(result, rules, choices);
  for (const LayerChoice& each : choices) {
    const ir::Graph coded = with_rule_codes(stage, with_choice(rules, each));
    ChoiceSensitivity choice{each.name, {}, {}};
    for (const LayerPair& pair : pairs_of_layers(stage, coded, layers)) {
      const LayerReport report = report_layer(stage, pair.original, coded, pair.quantized);
      choice.layers.push_back({report.weight_bits, report.activation_bits, report.encoded_bytes});
    }
    for (const SensitiveUnit& unit : result.units) {
      choice.units.push_back({bytes_of(stage, layers, unit, choice)});
    }
    result.choices.push_back(std::move(choice));
  }
  return result;
}

}  // namespace

Sensitivity sizes_by_rule(const ir::Graph& graph, const Recipe& recipe,
                          const std::vector<LayerChoice>& choices) {
  check_choices(choices);
  Recipe rules = with_ends(graph, recipe);
  const ir::Graph network = layers_for_all(graph, rules, choices);
  Sensitivity result;
  for (const LayerChoice& each : choices) result.choices.push_back({each.name, {}, {}});
  for (const ir::FittedStage& stage : ir::fitted_stages(network)) {
    if (quantizable_layers(stage.graph).empty()) continue;
    const Recipe own = recipe_for_layers(rules, layer_names(stage.graph));
    const Sensitivity part = sizes_of_stage(stage.graph, own, choices);
    append(result, part);
    for (std::size_t c = 0; c < choices.size(); ++c) append(result.choices[c], part.choices[c]);
  }
  return result;
}

namespace {

using Stored = std::vector<std::optional<StoredWeights>>;

/// What files store, for the layers of a stage: those of a name in their order.
/// @param stored  by layer of paired_layers(quantized, quantized)
class StoredByName {
 public:
  StoredByName(const ir::Graph& quantized, const Stored& stored) {
    const std::vector<LayerPair> pairs = paired_layers(quantized, quantized);
    for (std::size_t i = 0; i < std::min(pairs.size(), stored.size()); ++i) {
      by_name_[quantized.node(pairs[i].quantized).name].push_back(stored[i]);
    }
  }

  Stored of(const ir::Graph& stage) {
    Stored found;
    for (const LayerPair& pair : paired_layers(stage, stage)) {
      auto& left = by_name_[stage.node(pair.quantized).name];
      found.push_back(left.empty() ? std::nullopt : left.front());
      if (!left.empty()) left.pop_front();
    }
    return found;
  }

 private:
  std::map<std::string, std::deque<std::optional<StoredWeights>>> by_name_;
};

}  // namespace

Sensitivity sensitivity_of(const ir::Graph& quantized, const ir::Graph& reference,
                           const data::Dataset& data, const MeasureSettings& options,
                           const std::vector<std::optional<StoredWeights>>& stored) {
  const std::vector<StageNetwork> stages = stage_networks(reference, data, options.fit.resize);
  const std::vector<ir::FittedStage> others = ir::fitted_stages(quantized);
  if (stages.size() != others.size()) {
    fail(ErrorKind::kShape, "layers do not match: expected " + std::to_string(stages.size()) +
                                " stages as in the reference, found " +
                                std::to_string(others.size()));
  }
  StoredByName stored_weights(quantized, stored);
  MeasureSettings how = options;
  if (!how.loss) how.loss = common_loss(stages);
  Sensitivity result;
  ChoiceSensitivity choice{kOwnChoice, {}, {}};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (!stages[s].data) continue;
    const ir::Graph& other = others[s].graph;
    std::vector<ir::NodeId> layers;
    for (const LayerPair& pair : paired_layers(stages[s].graph, other)) {
      layers.push_back(pair.original);
    }
    if (layers.empty()) continue;
    Stored weights = stored_weights.of(other);
    // The other file may have other extents.
    const ir::Graph own = s == 0 ? other : graft_all(stages[s].graph, other);
    how.fit.resize = stages[s].resize;
    ScreenedData samples =
        screened(stages[s].graph, *stages[s].data, how.fit.devices, how.fit.resize);
    SensitivityRun run(stages[s].graph, samples.data, std::move(layers), how);
    run.result.warnings = std::move(samples.warnings);
    append(result, run.result);
    append(choice, run.measure(kOwnChoice, {own, own, std::move(weights)}, options.fit.progress));
  }
  result.choices.push_back(std::move(choice));
  result.on_fit_samples = false;  // those of the fit are not known
  for (SensitiveUnit& unit : result.units) unit.may_change = false;
  return result;
}

}  // namespace halftone::compress

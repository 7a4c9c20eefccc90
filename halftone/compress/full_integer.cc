// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/full_integer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/compress/calibration.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize_stages.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/stages.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/stages.h"
#include "halftone/passes/code_plan.h"
#include "halftone/passes/simplify.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr int kBits = 8;

/// @throws Error kUsage unless settings are those of full integers, or not set
void check_settings(const LayerSettings& settings, const std::string& where) {
  const auto expect = [&](bool right, const char* what) {
    if (right) return;
    fail(ErrorKind::kUsage, where +
                                std::string(": full-integer quantization has 8-bit weights in "
                                            "int_narrow with a scale per channel and 8-bit "
                                            "inputs in asymmetric; leave out ") +
                                what + ", or use skip to keep a layer float");
  };
  expect(settings.weight_bits.value_or(kBits) == kBits, "weight_bits");
  expect(settings.activation_bits.value_or(kBits) == kBits, "activation_bits");
  const auto is = [](const numerics::NumberSystem* system, const char* name) {
    return system == nullptr || system == &numerics::find_system(name);
  };
  expect(is(settings.weight_system, "int_narrow"), "the number system of weights");
  expect(is(settings.activation_system, "asymmetric"), "the number system of inputs");
  const auto granularity = settings.granularity.value_or(numerics::Granularity::kChannel);
  expect(granularity == numerics::Granularity::kChannel && !settings.group_size, "granularity");
  expect(
      settings.activation_scales.value_or(ActivationScales::kFitted) == ActivationScales::kFitted,
      "activation_scales");
  expect(settings.arithmetic.value_or(ir::Arithmetic::kAuto) == ir::Arithmetic::kAuto,
         "arithmetic");
}

/// Ranges are those of all values between layers, so the calibrator is one for the network.
/// @throws Error kUsage if a layer has its own
void check_calibrator(const LayerSettings& settings, const std::string& where) {
  if (!settings.calibrator && !settings.percentile && !settings.momentum) return;
  fail(ErrorKind::kUsage, where +
                              ": full-integer quantization has one calibrator for all values; set "
                              "it in [default], or leave it out");
}

/// The recipe of the weights: float32 inputs, and nothing for layers without a form in codes.
Recipe recipe_of_weights(const ir::Graph& graph, const Recipe& recipe) {
  check_settings(recipe.defaults, "recipe");
  Recipe weights = recipe;
  weights.defaults.weight_bits = kBits;
  weights.defaults.activation_bits = 0;
  weights.defaults.weight_system = &numerics::find_system("int_narrow");
  weights.defaults.activation_system = &numerics::find_system("asymmetric");
  weights.defaults.calibrator.reset();
  weights.defaults.percentile.reset();
  weights.defaults.momentum.reset();
  for (LayerOverride& each : weights.overrides) {
    check_settings(each.settings, each.where);
    check_calibrator(each.settings, each.where);
    each.settings.activation_bits.reset();
  }
  for (const NodeId id : quantizable_layers(graph)) {
    if (passes::has_code_form(graph, graph.node(id))) continue;
    LayerSettings skipped;
    skipped.skip = true;
    weights.overrides.push_back({literal_pattern(graph.node(id).name), skipped});
  }
  return weights;
}

/// @throws Error kUnsupported if the network has layers and all of them stay float32
void check_some_codes(const ir::Graph& graph, const Recipe& recipe) {
  const std::vector<NodeId> layers = quantizable_layers(graph);
  const bool has_codes = std::ranges::any_of(
      layers, [&](NodeId id) { return recipe.for_layer(graph.node(id).name).weights.has_value(); });
  if (layers.empty() || has_codes) return;
  fail(ErrorKind::kUnsupported,
       "no layer to quantize to integers: expected FullyConnected or Conv layers with constant "
       "weights that the recipe does not skip");
}

/// Whether operators compute with codes: all but the layers that the recipe skips.
passes::WantsCodes wanted_by(const ir::Graph& graph, const Recipe& recipe) {
  std::vector<std::string> skipped;
  for (const NodeId id : quantizable_layers(graph)) {
    const std::string& name = graph.node(id).name;
    if (!recipe.for_layer(name).weights) skipped.push_back(name);
  }
  return [skipped](const ir::Node& node) { return std::ranges::count(skipped, node.name) == 0; };
}

RangeOptions range_options(const LayerSettings& settings) {
  RangeOptions options;
  options.calibrator = settings.calibrator.value_or(Calibrator::kMinMax);
  if (options.calibrator == Calibrator::kFit) options.calibrator = Calibrator::kMinMax;
  options.percentile = settings.percentile.value_or(options.percentile);
  options.momentum = settings.momentum.value_or(options.momentum);
  return options;
}

using Ranges = std::map<ValueId, numerics::ValueRange>;

/// How ranges follow from samples.
struct RangeRule {
  const Calibration& calibration;
  RangeOptions options;
};

/// Adds the ranges that the codes of values cover, of values without one.
void add_ranges(Ranges& ranges, const ir::Graph& graph, const passes::WantsCodes& wanted,
                const RangeRule& rule, const ProgressSink& progress) {
  std::vector<ValueId> values = passes::values_for_codes(graph, wanted);
  std::erase_if(values, [&](ValueId value) { return ranges.contains(value); });
  if (values.empty()) return;
  const std::vector<ValueStatistics> statistics =
      rule.calibration.ranges(graph, values, rule.options.momentum, progress);
  const ParameterSpace space = ParameterSpace::of(numerics::empty_encoding(
      numerics::find_system("asymmetric"), kBits, {numerics::Granularity::kTensor, 0}, 1, 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const numerics::ValueRange& all = statistics[i].values.range();
    // A value that is always the same number has two codes: this number's and zero's.
    ranges[values[i]] = all.low == all.high ? all : with_context(graph.value(values[i]).name, [&] {
      return range_of(statistics[i], rule.options, space);
    });
  }
}

/// Adds the nodes of another graph with the same inputs. @return its values here
std::map<ValueId, ValueId> add_nodes(ir::Graph& graph, const ir::Graph& other) {
  std::map<ValueId, ValueId> here;
  here[ir::kAbsent] = ir::kAbsent;
  for (std::size_t i = 0; i < other.inputs().size(); ++i) {
    here[other.inputs()[i]] = graph.inputs()[i];
  }
  for (const NodeId id : other.topological_order()) {
    const ir::Node& node = other.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const auto [found, is_new] = here.try_emplace(input);
      if (is_new) {
        const ir::Value& constant = other.value(input);
        found->second = graph.add_constant(constant.name, constant.constant);
      }
      inputs.push_back(found->second);
    }
    here[node.output] = graph.add_node(node.name, node.op, std::move(inputs));
  }
  return here;
}

/// Sets the bits of layers in codes, and measures the outputs of all layers.
void finish_reports(std::vector<LayerReport>& reports, const ir::Graph& original,
                    const ir::Graph& coded, const Calibration& calibration,
                    const ProgressSink& progress) {
  ir::Graph both = coded;
  const auto originals = add_nodes(both, original);
  std::map<std::string, ValueId> results;  // a function split off a layer has its name, and is last
  for (const NodeId id : coded.topological_order()) {
    results[coded.node(id).name] = coded.node(id).output;
  }
  std::vector<ValuePair> pairs;
  std::vector<LayerReport*> layers;
  for (const NodeId id : original.topological_order()) {
    const ir::Node& node = original.node(id);
    const auto report = std::ranges::find(reports, node.name, &LayerReport::name);
    if (report == reports.end() || !results.contains(node.name)) continue;
    if (report->weight_bits == kBits) report->activation_bits = kBits;
    pairs.push_back({originals.at(node.output), results.at(node.name)});
    layers.push_back(&*report);
  }
  if (pairs.empty()) return;
  // Kernels read constants: weights that a node dequantizes would be left to the reference.
  std::vector<ValueId> values;
  for (const ValuePair& pair : pairs) values.insert(values.end(), {pair.original, pair.actual});
  both.set_outputs(std::move(values));
  passes::fold_constants(both, {.widen = true});
  const auto distortions = calibration.distortions(both, pairs, progress);
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i]->sqnr_db = distortions[i].sqnr_db();
}

/// The first stage in integers, and the rest as it is.
QuantizedGraph first_stage_to_integers(const ir::Graph& graph, const data::Dataset& data,
                                       const Recipe& recipe, const QuantizeSettings& options,
                                       const passes::CodeForm& form) {
  const std::vector<ir::FittedStage> stages = ir::fitted_stages(graph);
  const ir::Graph& first = stages.front().graph;
  const Recipe own = recipe_for_layers(with_ends(graph, recipe), layer_names(first));
  QuantizedGraph result = quantize_to_integers(first, data, own, options, form);
  std::vector<ir::Graph> grown;
  for (const ir::FittedStage& stage : stages) grown.push_back(stage.graph);
  grown.front() = std::move(result.graph);
  result.graph = ir::join_stages(grown, stages, graph.outputs());
  for (std::size_t s = 1; s < stages.size(); ++s) {
    for (std::string& line : float_layers(stages[s], "full integers end before it")) {
      result.warnings.push_back(std::move(line));
    }
  }
  return result;
}

}  // namespace

QuantizedGraph quantize_to_integers(const ir::Graph& graph, const data::Dataset& data,
                                    const Recipe& recipe, const QuantizeSettings& options,
                                    const passes::CodeForm& form) {
  const bool is_whole = graph.definitions().empty();
  if (!is_whole) return first_stage_to_integers(graph, data, recipe, options, form);
  // Reports compare with the network whose products are layers, equalized: made here.
  const Recipe all = with_ends(graph, recipe);
  ir::Graph network = with_layers(graph, recipe_of_weights(graph, all));
  Recipe weights = recipe_of_weights(network, all);
  check_some_codes(network, weights);
  const std::size_t pairs = equalize_layers(network, weights);
  weights.fit.equalize = false;
  passes::WantsCodes wanted = wanted_by(network, weights);
  Stages parts(options.progress, 3);
  QuantizeSettings first = options;
  first.progress = parts.next("weights");
  ScreenedData samples = screened(network, data, options.devices, options.resize);
  QuantizedGraph result = quantize(network, samples.data, weights, first);
  result.warnings = std::move(samples.warnings);
  result.equalized_pairs = pairs;
  ir::Graph& coded = result.graph;
  passes::split_activations(coded, wanted);
  const std::vector<NodeId> layers = quantizable_layers(network);
  const Calibration calibration(samples.data, calibration_batch(network, layers), options.devices,
                                options.memory_bytes, options.resize);
  const RangeRule rule{calibration, range_options(recipe.defaults)};
  Ranges ranges;
  add_ranges(ranges, coded, wanted, rule, parts.next("ranges"));
  passes::ApartRanges apart = passes::find_apart_ranges(coded, wanted, ranges);
  if (!apart.float_nodes.empty()) {
    wanted = [wanted, kept = std::move(apart.float_nodes)](const ir::Node& node) {
      return wanted(node) && !kept.contains(node.name);
    };
    add_ranges(ranges, coded, wanted, rule, {});
  }
  std::ranges::move(apart.notes, std::back_inserter(result.warnings));
  passes::insert_codes(coded, ranges, wanted, form);
  finish_reports(result.layers, network, coded, calibration, parts.next("measuring"));
  return result;
}

}  // namespace halftone::compress

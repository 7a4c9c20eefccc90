// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/sensitivity_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "halftone/base/random.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/sensitivity/tied_layers.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

/// Of the weights, where noise takes the place of gradients: 20 dB below them.
constexpr double kNoiseRatio = 0.1;

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

/// Those of the layers of a unit.
std::vector<LayerPair> pairs_in(const SensitiveUnit& unit, const std::vector<LayerPair>& pairs) {
  std::vector<LayerPair> chosen;
  for (const std::size_t layer : unit.layers) chosen.push_back(pairs[layer]);
  return chosen;
}

}  // namespace

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

std::vector<LayerPair> pairs_of_layers(const ir::Graph& reference, const ir::Graph& quantized,
                                       const std::vector<ir::NodeId>& layers) {
  std::vector<LayerPair> pairs;
  for (const LayerPair& pair : paired_layers(reference, quantized)) {
    if (std::ranges::count(layers, pair.original) > 0) pairs.push_back(pair);
  }
  return pairs;
}

SensitivityRun::SensitivityRun(const ir::Graph& reference, const data::Dataset& data,
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

ChoiceSensitivity SensitivityRun::measure(const std::string& name, const FittedChoice& fitted,
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

std::vector<LayerPair> SensitivityRun::pairs_of(const ir::Graph& quantized) const {
  return pairs_of_layers(reference_, quantized, layers_);
}

void SensitivityRun::add_layers(ChoiceSensitivity& choice, const FittedChoice& fitted,
                                const std::vector<LayerPair>& alone,
                                const std::vector<LayerPair>& in_order) {
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

LayerErrorOptions SensitivityRun::run_options() const {
  // The same runs as those of quantize(), whatever the network's size: so equal errors are equal.
  return {{}, options_.fit.devices, std::numeric_limits<std::uint64_t>::max(), options_.fit.resize};
}

std::vector<numerics::Distortion> SensitivityRun::errors_alone(
    const ir::Graph& quantized, const std::vector<LayerPair>& pairs) const {
  return distortions_alone(reference_, quantized, pairs, data_, run_options());
}

std::vector<double> SensitivityRun::weighted_errors(
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

void SensitivityRun::measure_noise() {
  if (!loss_per_noise_.empty()) return;
  const ir::Graph noisy = noisy_network(reference_, layers_, options_.fit.seed);
  const std::vector<LayerPair> pairs = pairs_of(noisy);
  const auto errors = errors_alone(noisy, pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double noise = errors[i].noise();
    loss_per_noise_.push_back(noise == 0 ? 0 : meter_.loss(noisy, {&pairs[i], 1}) / noise);
  }
}

void SensitivityRun::add_costs(ChoiceSensitivity& choice, const ir::Graph& network,
                               const std::vector<LayerPair>& pairs) const {
  if (!options_.costs) return;
  std::vector<std::string> names;
  for (const LayerPair& pair : pairs) names.push_back(network.node(pair.quantized).name);
  compress::add_costs(choice, options_.costs(network, names));
}

}  // namespace halftone::compress

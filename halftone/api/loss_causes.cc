// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/loss_causes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "halftone/base/error.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone {
namespace {

constexpr std::size_t kMaxWorst = 3;
constexpr std::size_t kMaxSamples = 1024;
constexpr std::size_t kMinSamples = 16;
constexpr std::size_t kMaxLayerSamples = std::size_t{1} << 14;  ///< layers times samples, about
constexpr double kLeastShare = 0.05;  ///< of the loss: layers below it are no cause
constexpr std::uint64_t kSeed = 0;

std::size_t num_samples_for(std::size_t num_layers) {
  const std::size_t wanted = kMaxLayerSamples / std::max<std::size_t>(num_layers, 1);
  return std::clamp(wanted, kMinSamples, kMaxSamples);
}

/// The index of the figures of each pair's layer, by names; each layer once.
std::vector<std::optional<std::size_t>> figures_of(const NetworkFigures& figures,
                                                   const ir::Graph& model,
                                                   const std::vector<compress::LayerPair>& pairs) {
  std::multimap<std::string, std::size_t> indices;
  for (std::size_t i = 0; i < figures.layers.size(); ++i) {
    indices.emplace(figures.layers[i].info.name, i);
  }
  std::vector<std::optional<std::size_t>> result;
  for (const compress::LayerPair& pair : pairs) {
    const std::string& name = model.node(pair.quantized).name;
    const auto found = indices.lower_bound(name);
    const bool is_known = found != indices.end() && found->first == name;
    result.push_back(is_known ? std::optional(found->second) : std::nullopt);
    if (is_known) indices.erase(found);
  }
  return result;
}

bool has_codes(const LayerInfo& layer) {
  return layer.weight_bits < 32 || layer.activation_bits < 32;
}

/// Pairs of layers in codes that cause most of the loss, the worst first.
std::vector<std::size_t> worst_of(const NetworkFigures& figures,
                                  const std::vector<std::optional<std::size_t>>& layers,
                                  const std::vector<double>& losses) {
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i] || !has_codes(figures.layers[*layers[i]].info)) continue;
    if (losses[i] > 0 && losses[i] >= kLeastShare * sum) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return losses[a] > losses[b]; });
  order.resize(std::min(order.size(), kMaxWorst));
  return order;
}

}  // namespace

void add_loss_causes(NetworkFigures& figures, const ComparedGraphs& graphs,
                     const data::Dataset* data, const LossCauseOptions& options) {
  if (data == nullptr) return;
  const auto pairs = compress::paired_layers(graphs.reference, graphs.model);
  const data::Dataset samples = data->first(num_samples_for(pairs.size()));
  const compress::LossKind kind = compress::default_loss(graphs.reference, samples);
  compress::MeterSettings settings{options.devices};
  settings.resize = options.resize;
  const compress::LossMeter meter(graphs.reference, samples, kind, settings);
  if (!meter.has_gradients(pairs)) return;
  const std::vector<double> losses =
      meter.weighted_errors(graphs.model, pairs, kSeed, options.progress);
  const auto layers = figures_of(figures, graphs.model, pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (layers[i]) figures.layers[*layers[i]].loss = losses[i];
  }
  LossCauses causes{std::string(to_string(kind)), samples.size()};
  for (const std::size_t i : worst_of(figures, layers, losses)) causes.worst.push_back(*layers[i]);
  figures.causes = std::move(causes);
}

void add_eight_bit_bytes(NetworkFigures& figures, const Network& reference) {
  std::map<std::string, std::size_t> bytes;
  try {
    const ir::Graph graph = prepared(reference, Purpose::kQuantize);
    const auto sizes = compress::sizes_by_rule(graph, {}, {compress::choice_named("8")});
    for (std::size_t i = 0; i < sizes.layers.size(); ++i) {
      bytes[sizes.layers[i].name] = sizes.choices[0].layers[i].bytes;
    }
  } catch (const Error& error) {
    // A reference in codes cannot be quantized again: nobody asked for that.
    if (error.kind() != ErrorKind::kUnsupported && error.kind() != ErrorKind::kUsage) throw;
  }
  for (LayerFigures& layer : figures.layers) {
    const auto found = bytes.find(layer.reference_name);
    if (found != bytes.end()) layer.eight_bit_bytes = found->second;
  }
}

}  // namespace halftone

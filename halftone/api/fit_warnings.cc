// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/fit_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "halftone/api/fixed_part.h"
#include "halftone/api/network.h"
#include "halftone/base/error.h"
#include "halftone/base/toml/keys.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone {
namespace {

using compress::LayerPair;

constexpr double kGoodDb = 20;        ///< of an output: nothing to say
constexpr double kCostDb = 3;         ///< of a layer: worth a line
constexpr std::size_t kSamples = 64;  ///< to measure with
constexpr std::size_t kTried = 6;     ///< layers
constexpr std::size_t kNamed = 3;     ///< layers

double to_db(double relative_noise) { return -10 * std::log10(relative_noise); }

/// The layers that have codes, those first behind which the output is worst beside the
/// best of the layers before.
std::vector<std::string> suspects(const std::vector<compress::LayerReport>& layers) {
  std::vector<std::pair<double, std::size_t>> falls;
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double own = layers[i].sqnr_db;
    const bool has_codes = layers[i].weight_bits < 32 || layers[i].activation_bits < 32;
    if (has_codes) falls.emplace_back(own - std::min(before, 60.0), i);
    before = own;
  }
  std::ranges::sort(falls);
  std::vector<std::string> found;
  for (const auto& [fall, layer] : falls) found.push_back(layers[layer].name);
  found.resize(std::min(found.size(), kTried));
  return found;
}

/// What layers cost: decibels of the first output that come back without their codes.
class Costs {
 public:
  Costs(const ir::Graph& reference, const ir::Graph& quantized, const data::Dataset& data,
        const compress::QuantizeSettings& options)
      : quantized_(quantized),
        meter_(reference, data, compress::LossKind::kError,
               {options.devices, v0::kRunBatch, options.resize}),
        pairs_(compress::paired_layers(reference, quantized)),
        whole_(meter_.loss(quantized, pairs_)) {}

  [[nodiscard]] double whole_db() const { return to_db(whole_); }

  /// The output with codes in all layers before a layer, and with its own too. Layers behind are
  /// float: they were fitted to make up for its errors, and would add their own.
  [[nodiscard]] std::pair<double, double> around(const std::string& layer) const {
    const auto found = std::ranges::find(
        pairs_, layer, [&](const LayerPair& pair) { return quantized_.node(pair.quantized).name; });
    if (found == pairs_.begin() || found == pairs_.end()) return {0, 0};
    return {to_db(meter_.loss(quantized_, std::span(pairs_.begin(), found))),
            to_db(meter_.loss(quantized_, std::span(pairs_.begin(), found + 1)))};
  }

  /// Decibels; infinite if no other layer has codes.
  [[nodiscard]] double of(const std::vector<std::string>& layers) const {
    std::vector<LayerPair> others;
    for (const LayerPair& pair : pairs_) {
      const std::string& name = quantized_.node(pair.quantized).name;
      if (std::ranges::find(layers, name) == layers.end()) others.push_back(pair);
    }
    return to_db(meter_.loss(quantized_, others) / whole_);
  }

 private:
  const ir::Graph& quantized_;
  compress::LossMeter meter_;
  std::vector<LayerPair> pairs_;
  double whole_;  ///< error relative to the output
};

/// Layers, and the decibels that they cost together.
struct Cost {
  double db;
  std::vector<std::string> layers;
};

/// The most expensive layers first, each alone.
std::vector<Cost> single_costs(const Costs& costs, const std::vector<std::string>& layers) {
  std::vector<Cost> found;
  for (const std::string& layer : layers) {
    // Infinite if no other layer has codes: that says nothing new.
    const double db = costs.of({{layer}});
    if (std::isfinite(db)) found.push_back({db, {layer}});
  }
  std::ranges::stable_sort(found, std::greater<>(), &Cost::db);
  return found;
}

std::string decibels(double db) { return fmt::format("{:.1f}", db); }

std::string recipe_of(const std::vector<std::string>& layers) {
  std::string text;
  for (const std::string& layer : layers) {
    text += (text.empty() ? "" : "; ") +
            ("[[layer]] name = " + keys::quoted(compress::literal_pattern(layer))) +
            ", skip = true";
  }
  return " (" + text + " in a recipe)";
}

std::string cost_line(const Cost& cost, double whole_db) {
  const bool is_one = cost.layers.size() == 1;
  return (is_one ? "layer '" : "layers '") + fmt::format("{}", fmt::join(cost.layers, "', '")) +
         (is_one ? "' costs " : "' together cost ") + decibels(cost.db) + " dB: the output has " +
         decibels(whole_db) + " dB, and " + decibels(whole_db + cost.db) +
         (is_one ? " if it stays float" : " if they stay float") + recipe_of(cost.layers);
}

/// Of layers that the output gets much worse with, though it stays so without their codes alone.
std::vector<std::string> fall_lines(const Costs& costs, const std::vector<std::string>& layers) {
  std::vector<std::pair<double, std::string>> found;
  for (const std::string& layer : layers) {
    const auto [before, with] = costs.around(layer);
    if (!std::isfinite(before) || with >= kGoodDb || before - with < kCostDb) continue;
    found.emplace_back(with - before, "layer '" + layer + "' costs " + decibels(before - with) +
                                          " dB: the output has " + decibels(before) +
                                          " dB with codes in all layers before it, and " +
                                          decibels(with) + " with its own" + recipe_of({layer}));
  }
  std::ranges::sort(found);
  std::vector<std::string> lines;
  for (auto& [fall, line] : found) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> cost_lines(const ir::Graph& graph, const compress::QuantizedGraph& result,
                                    const data::Dataset& data,
                                    const compress::QuantizeSettings& options) {
  const Costs costs(graph, result.graph, data, options);
  if (costs.whole_db() >= kGoodDb) return {};
  const std::vector<std::string> tried = suspects(result.layers);
  std::vector<Cost> singles = single_costs(costs, tried);
  singles.resize(std::min(singles.size(), kNamed));
  std::vector<std::string> lines;
  for (const Cost& cost : singles) {
    if (cost.db >= kCostDb) lines.push_back(cost_line(cost, costs.whole_db()));
  }
  if (lines.empty()) lines = fall_lines(costs, tried);
  lines.resize(std::min(lines.size(), kNamed));
  if (!lines.empty()) return lines;
  Cost together{0, {}};
  for (const Cost& cost : singles) together.layers.push_back(cost.layers.front());
  if (!together.layers.empty()) together.db = costs.of(together.layers);
  if (!std::isfinite(together.db) || together.db < kCostDb) return {};
  return {cost_line(together, costs.whole_db())};
}

/// Names of layers, and why they are slow.
struct SlowStep {
  std::string name;
  std::string why;
};

/// None of a network that does not run here.
std::vector<SlowStep> slow_steps(const ir::Graph& quantized) {
  std::vector<SlowStep> found;
  try {
    const RunGraph run = graph_to_run(Network(quantized, "network"), {});
    runtime::PlanSettings options;
    options.batch = run.batch;
    const auto plan = runtime::make_plan(run.graph, options);
    for (const runtime::PlanStep& step : plan->steps()) {
      if (!step.slow.empty()) found.push_back({step.name, step.slow});
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory || error.kind() == ErrorKind::kInternal) throw;
  }
  return found;
}

}  // namespace

std::vector<std::string> costly_layers(const ir::Graph& graph,
                                       const compress::QuantizedGraph& result,
                                       const data::Dataset& data,
                                       const compress::QuantizeSettings& options) {
  if (result.equalized_pairs > 0) return {};
  try {
    const data::Dataset few = data.first(kSamples);
    // Behind extents that depend on data, outputs differ in size.
    const ir::Graph before = fixed_part(graph);
    compress::QuantizedGraph found = result;
    found.graph = fixed_part(std::move(found.graph));
    return cost_lines(before, found,
                      compress::screened(before, few, options.devices, options.resize).data,
                      options);
  } catch (const Error& error) {
    // Outputs that are not scores, or layers that changed places, cannot be compared.
    if (error.kind() != ErrorKind::kShape && error.kind() != ErrorKind::kUnsupported) throw;
    return {};
  }
}

std::vector<std::string> kept_layers(const ir::Graph& graph) {
  const std::vector<std::string> names = passes::layers_in_codes(graph);
  if (names.empty()) return {};
  std::string line =
      names.size() == 1 ? "a layer is" : std::to_string(names.size()) + " layers are";
  line += " in few bits already: ";
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    line += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kNamed) line += " and " + std::to_string(names.size() - kNamed) + " more";
  return {line + "; start from the float network to fit them"};
}

std::vector<std::string> slow_layers(const ir::Graph& quantized) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  // of weights that a plan would pack
  if (compress::constant_bytes(quantized) > kMaxBytes) return {};
  const std::vector<SlowStep> slow = slow_steps(quantized);
  if (slow.empty()) return {};
  std::string line = slow.size() == 1 ? "a layer is" : std::to_string(slow.size()) + " layers are";
  line += " not faster here than in float32: ";
  for (std::size_t i = 0; i < std::min(slow.size(), kNamed); ++i) {
    line += (i == 0 ? "'" : ", '") + slow[i].name + "' (" + slow[i].why + ")";
  }
  if (slow.size() > kNamed) line += " and " + std::to_string(slow.size() - kNamed) + " more";
  return {line + "; a recipe may skip them"};
}

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/fit_warnings.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <utility>

#include "halftone/api/network.h"
#include "halftone/base/error.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/sensitivity/loss_meter.h"
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

/// Indices of the layers that have codes, those first behind which the output is worst beside the
/// best of the layers before.
std::vector<std::size_t> suspects(const std::vector<compress::LayerReport>& layers) {
  std::vector<std::pair<double, std::size_t>> falls;
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double own = layers[i].sqnr_db;
    const bool has_codes = layers[i].weight_bits < 32 || layers[i].activation_bits < 32;
    if (has_codes) falls.emplace_back(own - std::min(before, 60.0), i);
    before = own;
  }
  std::ranges::sort(falls);
  std::vector<std::size_t> found;
  for (const auto& [fall, layer] : falls) found.push_back(layer);
  found.resize(std::min(found.size(), kTried));
  return found;
}

/// What layers cost: decibels of the first output that come back without their codes.
class Costs {
 public:
  Costs(const ir::Graph& reference, const ir::Graph& quantized, const data::Dataset& data,
        const spmd::Devices& devices)
      : quantized_(quantized),
        meter_(reference, data, compress::LossKind::kError, devices),
        pairs_(compress::paired_layers(reference, quantized)),
        whole_(to_db(meter_.loss(quantized, pairs_))) {}

  [[nodiscard]] double whole_db() const { return whole_; }

  [[nodiscard]] double of(const std::string& layer) const {
    std::vector<LayerPair> others;
    for (const LayerPair& pair : pairs_) {
      if (quantized_.node(pair.quantized).name != layer) others.push_back(pair);
    }
    if (others.size() == pairs_.size()) return 0;
    return to_db(meter_.loss(quantized_, others)) - whole_;
  }

 private:
  const ir::Graph& quantized_;
  compress::LossMeter meter_;
  std::vector<LayerPair> pairs_;
  double whole_;
};

std::vector<std::string> cost_lines(const ir::Graph& graph, const compress::QuantizeResult& result,
                                    const data::Dataset& data,
                                    const compress::QuantizeOptions& options) {
  const Costs costs(graph, result.graph, data, options.devices);
  if (costs.whole_db() >= kGoodDb) return {};
  std::vector<std::pair<double, std::string>> found;
  for (const std::size_t layer : suspects(result.layers)) {
    const std::string& name = result.layers[layer].name;
    const double cost = costs.of(name);
    // Infinite if no other layer has codes: that says nothing new.
    if (cost >= kCostDb && std::isfinite(cost)) found.emplace_back(-cost, name);
  }
  std::ranges::sort(found);
  found.resize(std::min(found.size(), kNamed));
  std::vector<std::string> lines;
  for (const auto& [cost, name] : found) {
    std::ostringstream line;
    line << std::fixed << std::setprecision(1) << "layer '" << name << "' costs " << -cost
         << " dB: the output has " << costs.whole_db() << " dB, and " << costs.whole_db() - cost
         << " if it stays float ([[layer]] name = \"" << name << "\", skip = true in a recipe)";
    lines.push_back(line.str());
  }
  return lines;
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
    runtime::PlanOptions options;
    options.batch = run.batch;
    const auto plan = runtime::make_plan(run.graph, options);
    for (const runtime::Step& step : plan->steps()) {
      if (!step.slow.empty()) found.push_back({step.name, step.slow});
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory || error.kind() == ErrorKind::kInternal) throw;
  }
  return found;
}

}  // namespace

std::vector<std::string> costly_layers(const ir::Graph& graph,
                                       const compress::QuantizeResult& result,
                                       const data::Dataset& data,
                                       const compress::QuantizeOptions& options) {
  const bool is_good = std::ranges::all_of(
      result.layers, [](const compress::LayerReport& layer) { return layer.sqnr_db >= kGoodDb; });
  if (is_good || result.equalized_pairs > 0) return {};
  try {
    const data::Dataset few = data.first(kSamples);
    return cost_lines(graph, result, compress::screened(graph, few, options.devices).data, options);
  } catch (const Error& error) {
    // Outputs that are not scores, or layers that changed places, cannot be compared.
    if (error.kind() != ErrorKind::kShape && error.kind() != ErrorKind::kUnsupported) throw;
    return {};
  }
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

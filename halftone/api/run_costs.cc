// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/run_costs.h"

#include <deque>
#include <map>
#include <optional>
#include <string_view>

namespace halftone {
namespace {

/// Finds the layers that steps of a plan belong to. Of several layers of one name, the steps come
/// in the same order.
class LayersOfSteps {
 public:
  explicit LayersOfSteps(const std::vector<std::string>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) left_[layers[i]].push_back(i);
  }

  std::optional<std::size_t> layer(const runtime::Plan& plan, const runtime::PlanStep& step) {
    const auto found = left_.find(step.name);
    if (found != left_.end()) {
      const std::size_t index = found->second.front();
      if (found->second.size() > 1) found->second.pop_front();
      return index;
    }
    const ir::Node& node = plan.graph().node(step.node);
    const bool encodes = std::holds_alternative<ir::Encode>(node.op) ||
                         std::holds_alternative<ir::FakeQuantize>(node.op);
    if (!encodes) return std::nullopt;
    for (const ir::NodeId reader : plan.graph().consumers(node.output)) {
      const auto of_reader = left_.find(plan.graph().node(reader).name);
      if (of_reader != left_.end()) return of_reader->second.front();
    }
    return std::nullopt;
  }

 private:
  std::map<std::string, std::deque<std::size_t>, std::less<>> left_;
};

}  // namespace

compress::RunCosts measured_costs(const ir::Graph& network, const std::vector<std::string>& layers,
                                  const TimingSettings& options) {
  const MeasuredPlan measurement = measure(Network(network), options);
  const runtime::Plan& plan = *measurement.plan;
  const auto samples = static_cast<double>(measurement.profile.batch);
  compress::RunCosts costs{
      std::vector<double>(layers.size(), 0), measurement.profile.median_us / samples, {}, 0};
  LayersOfSteps steps(layers);
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    const auto layer = steps.layer(plan, plan.steps()[i]);
    if (layer) costs.layer_us[*layer] += measurement.profile.step_median_us[i] / samples;
  }
  return costs;
}

void measure_time(compress::MeasureSettings& options) {
  options.costs_name = "measured";
  options.costs = [](const ir::Graph& network, const std::vector<std::string>& layers) {
    return measured_costs(network, layers, {});
  };
}

}  // namespace halftone

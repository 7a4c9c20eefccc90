// SPDX-License-Identifier: Apache-2.0
#include "halftone/gradient/tape.h"

#include <algorithm>

namespace halftone::gradient {

std::vector<float> tape_elements(const ir::Constant& constant) {
  const auto* dense = std::get_if<ir::Tensor>(&constant);
  const ir::Tensor numbers =
      dense == nullptr ? ir::to_float(constant) : dense->cast(ir::ElementType::kFloat32);
  const std::span<const float> elements = numbers.as<float>();
  return {elements.begin(), elements.end()};
}

Tape::Tape(const ir::Graph& graph, const std::map<ir::ValueId, std::span<const float>>& shared,
           std::span<const ir::ValueId> wanted,
           const std::map<ir::ValueId, const numerics::LevelTable*>& levels)
    : graph_(graph) {
  for (const ir::ValueId id : graph.inputs()) add_value(id, shared);
  for (const ir::NodeId id : graph.topological_order()) {
    const auto learned = levels.find(graph.node(id).output);
    add_node(graph.node(id), wanted, shared, learned == levels.end() ? nullptr : learned->second);
  }
}

void Tape::add_node(const ir::Node& node, std::span<const ir::ValueId> wanted,
                    const std::map<ir::ValueId, std::span<const float>>& shared,
                    const numerics::LevelTable* levels) {
  const auto want = [&](ir::ValueId id) {
    gradients_.emplace(id, std::vector<float>(data_.at(id).size(), 0));
  };
  StepContext context{graph_, node, {}, {}, {}, {}, levels, {}, &drop_};
  bool is_wanted = levels != nullptr;
  for (const ir::ValueId input : node.inputs) {
    if (input != ir::kAbsent && !data_.contains(input)) add_value(input, shared);
    if (input != ir::kAbsent && std::ranges::count(wanted, input) > 0) want(input);
    const bool has_gradient = input != ir::kAbsent && gradients_.contains(input);
    is_wanted = is_wanted || has_gradient;
    context.inputs.push_back(input == ir::kAbsent ? std::span<const float>() : data_.at(input));
    context.input_gradients.push_back(has_gradient ? std::span<float>(gradients_.at(input))
                                                   : std::span<float>());
  }
  add_value(node.output, shared);
  context.output = storage_.at(node.output);
  // Booleans and indices are piecewise constant, so they have no gradient.
  const ir::ElementType element = graph_.value(node.output).type.encoding.element;
  is_wanted = is_wanted && element == ir::ElementType::kFloat32;
  if (is_wanted) {
    want(node.output);
    context.output_gradient = gradients_.at(node.output);
  }
  if (levels != nullptr) {
    std::vector<double>& gradient = level_gradients_[node.output];
    gradient.assign(levels->size(), 0);
    context.level_gradient = gradient;
  }
  steps_.push_back(make_step(context));
  if (!is_wanted) steps_.back().backward = nullptr;
}

void Tape::add_value(ir::ValueId id, const std::map<ir::ValueId, std::span<const float>>& shared) {
  if (const auto found = shared.find(id); found != shared.end()) {
    data_[id] = found->second;
    return;
  }
  const ir::Constant* constant = graph_.constant(id);
  storage_[id] = constant != nullptr
                     ? tape_elements(*constant)
                     : std::vector<float>(graph_.value(id).type.shape.element_count(), 0);
  data_[id] = storage_[id];
}

std::span<float> Tape::data(ir::ValueId id) { return storage_.at(id); }

std::span<float> Tape::gradient(ir::ValueId id) { return gradients_.at(id); }

void Tape::forward(const DropOptions& drop) {
  drop_ = drop;
  for (const TapeStep& step : steps_) step.forward();
}

void Tape::backward(ir::ValueId output) {
  for (auto& [id, gradient] : gradients_) {
    if (id != output) std::ranges::fill(gradient, 0.0F);
  }
  for (auto& [id, gradient] : level_gradients_) std::ranges::fill(gradient, 0.0);
  for (std::size_t s = steps_.size(); s-- > 0;) {
    if (steps_[s].backward) steps_[s].backward();
  }
}

}  // namespace halftone::gradient

// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/trainable.h"

#include <algorithm>
#include <set>

#include "halftone/ir/ops/traits.h"

namespace halftone::train {
namespace {

bool is_real(const ir::Graph& graph, ir::ValueId id) {
  return graph.value(id).type.encoding.element == ir::ElementType::kFloat32;
}

/// Follows the outputs of Normalize nodes as far as constants scale and shift them.
class Scales {
 public:
  explicit Scales(const ir::Graph& graph) : graph_(graph) {}

  /// The inputs of a node that scale or shift. To be asked in order of execution.
  std::vector<std::size_t> inputs(const ir::Node& node) {
    if (const auto* binary = std::get_if<ir::Binary>(&node.op)) return inputs(node, *binary);
    const bool stays_normalized =
        ir::permutes_elements(node.op) && normalized_.contains(node.inputs[0]);
    if (stays_normalized || std::holds_alternative<ir::Normalize>(node.op)) {
      normalized_.insert(node.output);
    }
    return {};
  }

 private:
  std::vector<std::size_t> inputs(const ir::Node& node, const ir::Binary& op) {
    if (!ir::traits_of(op.kind).neutral) return {};
    for (const std::size_t scale : {std::size_t{1}, std::size_t{0}}) {
      const bool divides = op.kind == ir::BinaryKind::kDiv && scale == 0;
      if (divides || graph_.constant(node.inputs[scale]) == nullptr) continue;
      if (!normalized_.contains(node.inputs[1 - scale])) continue;
      if (op.activation == ir::Activation{}) normalized_.insert(node.output);
      return {scale};
    }
    return {};
  }

  const ir::Graph& graph_;
  std::set<ir::ValueId> normalized_;
};

}  // namespace

bool reads_weights(const ir::Operator& op) { return !ir::parameter_inputs(op).empty(); }

std::vector<ir::ValueId> trainable_constants(const ir::Graph& graph) {
  std::vector<ir::ValueId> found;
  Scales scales(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    std::vector<std::size_t> inputs = scales.inputs(node);
    if (inputs.empty()) inputs = ir::parameter_inputs(node.op);
    for (const std::size_t i : inputs) {
      if (i >= node.inputs.size() || node.inputs[i] == ir::kAbsent) continue;
      const ir::ValueId value = node.inputs[i];
      const bool is_parameter = graph.constant(value) != nullptr && is_real(graph, value);
      if (is_parameter && std::ranges::count(found, value) == 0) found.push_back(value);
    }
  }
  return found;
}

std::vector<ir::NodeId> nodes_with_gradient(const ir::Graph& graph,
                                            const std::vector<ir::ValueId>& constants) {
  std::set<ir::ValueId> depends(constants.begin(), constants.end());
  const std::vector<ir::NodeId> order = graph.topological_order();
  for (const ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    const bool has_one = std::ranges::any_of(
        node.inputs, [&](ir::ValueId input) { return depends.contains(input); });
    if (has_one && is_real(graph, node.output)) depends.insert(node.output);
  }
  std::set<ir::ValueId> wanted;
  for (const ir::ValueId output : graph.outputs()) {
    if (depends.contains(output)) wanted.insert(output);
  }
  std::vector<ir::NodeId> found;
  for (std::size_t i = order.size(); i-- > 0;) {
    const ir::Node& node = graph.node(order[i]);
    if (!wanted.contains(node.output)) continue;
    found.push_back(order[i]);
    for (const ir::ValueId input : node.inputs) {
      if (depends.contains(input)) wanted.insert(input);
    }
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace halftone::train

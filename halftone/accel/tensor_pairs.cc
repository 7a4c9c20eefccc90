// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/tensor_pairs.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace halftone::accel {
namespace {

class Pairs {
 public:
  Pairs(const ir::Graph& graph, const std::map<ir::NodeId, Operation*>& operations)
      : graph_(graph), operations_(operations) {
    for (const ir::NodeId id : graph.topological_order()) {
      for (const ir::ValueId input : graph.node(id).inputs) readers_[input].push_back(id);
    }
  }

  void mark(ir::NodeId first) {
    Operation* operation = operation_of(first);
    if (operation == nullptr || !is_layer(*operation) || operation->joins_shares) return;
    between_.clear();
    partners_.clear();
    if (!reaches_partners(graph_.node(first).output)) {
      operation->gathers_shares = true;
      return;
    }
    for (Operation* each : between_) each->in_shares = true;
    for (Operation* each : partners_) each->joins_shares = true;
  }

 private:
  [[nodiscard]] Operation* operation_of(ir::NodeId id) const {
    const auto found = operations_.find(id);
    return found == operations_.end() ? nullptr : found->second;
  }

  /// One matrix of weights.
  static bool is_layer(const Operation& operation) {
    return operation.product.count == 1 &&
           std::ranges::any_of(operation.reads, [](const Transfer& each) {
             return each.role == TensorRole::kWeights;
           });
  }

  /// Whether each channel of an operator's output follows from the same channel of one input.
  [[nodiscard]] bool keeps_channels(const ir::Node& node) const {
    const auto inputs = std::ranges::count_if(node.inputs, [&](const ir::ValueId input) {
      return input != ir::kAbsent && graph_.constant(input) == nullptr;
    });
    const bool is_elementwise =
        std::holds_alternative<ir::Unary>(node.op) || std::holds_alternative<ir::Binary>(node.op) ||
        std::holds_alternative<ir::Pool>(node.op) || std::holds_alternative<ir::Encode>(node.op) ||
        std::holds_alternative<ir::Reshape>(node.op) || std::holds_alternative<ir::Cast>(node.op);
    return inputs == 1 && is_elementwise;
  }

  /// Whether all readers of a value are layers, or keep channels and have such readers.
  bool reaches_partners(ir::ValueId value) {
    if (std::ranges::count(graph_.outputs(), value) > 0 || readers_[value].empty()) return false;
    return std::ranges::all_of(readers_[value], [&](const ir::NodeId id) {
      const ir::Node& node = graph_.node(id);
      Operation* operation = operation_of(id);
      const bool is_depthwise = operation != nullptr && operation->op == "DepthwiseConv";
      if (operation != nullptr && is_layer(*operation)) {
        partners_.push_back(operation);
        return node.inputs[0] == value;
      }
      if (!is_depthwise && !keeps_channels(node)) return false;
      if (operation != nullptr) between_.push_back(operation);
      return reaches_partners(node.output);
    });
  }

  const ir::Graph& graph_;
  const std::map<ir::NodeId, Operation*>& operations_;
  std::map<ir::ValueId, std::vector<ir::NodeId>> readers_;
  std::vector<Operation*> between_;
  std::vector<Operation*> partners_;
};

}  // namespace

void mark_tensor_pairs(const ir::Graph& graph, const std::map<ir::NodeId, Operation*>& operations) {
  Pairs pairs(graph, operations);
  for (const ir::NodeId id : graph.topological_order()) pairs.mark(id);
}

}  // namespace halftone::accel

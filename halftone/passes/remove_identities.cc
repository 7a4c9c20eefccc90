// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

bool all_are(const ir::Tensor* tensor, float number) {
  return tensor != nullptr &&
         std::ranges::all_of(tensor->as<float>(), [number](float x) { return x == number; });
}

/// The operand that equals the result of a Binary before its activation; kAbsent if there is none.
ir::ValueId neutral_operand(const ir::Graph& graph, const ir::Binary& op, const ir::Node& node) {
  const ir::BinaryTraits& traits = ir::traits_of(op.kind);
  if (!traits.neutral) return ir::kAbsent;
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1}}) {
    if (kept == 1 && !traits.commutes) break;
    const bool same_type = graph.value(node.inputs[kept]).type == graph.value(node.output).type;
    if (same_type && all_are(float_constant(graph, node.inputs[1 - kept]), *traits.neutral)) {
      return node.inputs[kept];
    }
  }
  return ir::kAbsent;
}

/// Whether an operator returns its first input, given that its output has the same type.
struct ReturnsInput {
  std::size_t num_inputs;

  bool operator()(const ir::Cast& /*op*/) const { return true; }
  bool operator()(const ir::Reshape& /*op*/) const { return true; }
  bool operator()(const ir::Concat& /*op*/) const { return num_inputs == 1; }
  bool operator()(const ir::Transpose& op) const { return is_identity(op.permutation); }
  bool operator()(const ir::Unary& op) const {
    return op.activation.kind == ir::ActivationKind::kIdentity;
  }
  bool operator()(const ir::Slice& op) const {
    return op.count == 0 || (op.begin == 0 && (op.step == 1 || op.count == 1));
  }
  template <typename Op>
  bool operator()(const Op& /*op*/) const {
    return false;
  }
};

bool returns_input(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueType& input = graph.value(node.inputs[0]).type;
  return input == graph.value(node.output).type &&
         std::visit(ReturnsInput{node.inputs.size()}, node.op);
}

bool simplify_node(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  if (returns_input(graph, node)) return replace_value(graph, node.output, node.inputs[0]);
  if (const auto* binary = std::get_if<ir::Binary>(&node.op)) {
    const ir::ValueId operand = neutral_operand(graph, *binary, node);
    if (operand == ir::kAbsent) return false;
    if (binary->activation == ir::Activation{}) return replace_value(graph, node.output, operand);
    graph.replace_node(id, ir::Unary{binary->activation}, {operand});
    return true;
  }
  if (std::holds_alternative<ir::Reshape>(node.op) &&
      computed_by<ir::Reshape>(graph, node.inputs[0]) != nullptr) {
    graph.replace_node(id, node.op, graph.node(*graph.producer(node.inputs[0])).inputs);
    simplify_node(graph, id);  // there and back again is an identity
    return true;
  }
  return false;
}

/// The transposed matrices, so that layers that share a weight still share it.
using Transposed = std::map<ir::ValueId, ir::ValueId>;

ir::ValueId transposed(ir::Graph& graph, ir::ValueId matrix, Transposed& done) {
  const auto [entry, is_new] = done.try_emplace(matrix, ir::kAbsent);
  if (is_new) {
    const std::string name = graph.value(matrix).name + "/transposed";
    entry->second = dense_constant(graph, matrix) != nullptr
                        ? transpose_constant(graph, matrix, {1, 0})
                        : graph.add_node(name, ir::Transpose{{1, 0}}, {matrix});
  }
  return entry->second;
}

}  // namespace

bool remove_identities(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    changed = simplify_node(graph, id) || changed;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

bool match_fully_connected(ir::Graph& graph) {
  bool changed = false;
  Transposed done;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    const auto* matmul = std::get_if<ir::MatMul>(&node.op);
    if (matmul == nullptr || matmul->transpose_a) continue;
    const ir::ValueId matrix = node.inputs[1];
    if (!is_stored(graph, matrix) || graph.value(matrix).type.shape.rank() != 2) continue;
    const ir::ValueId weights = matmul->transpose_b ? matrix : transposed(graph, matrix, done);
    graph.replace_node(id, ir::FullyConnected{}, {node.inputs[0], weights});
    changed = true;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes

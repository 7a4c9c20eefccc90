// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

/// The constant that a BroadcastTo repeats; kAbsent for any other value.
ir::ValueId repeated(const ir::Graph& graph, ir::ValueId id) {
  if (computed_by<ir::BroadcastTo>(graph, id) == nullptr) return ir::kAbsent;
  const ir::ValueId source = graph.node(*graph.producer(id)).inputs[0];
  return float_constant(graph, source) == nullptr ? ir::kAbsent : source;
}

/// Makes a node repeat a constant.
bool repeat(ir::Graph& graph, ir::NodeId id, ir::Tensor constant) {
  const ir::Value& output = graph.value(graph.node(id).output);
  ir::BroadcastTo op{output.type.shape};
  const ir::ValueId source = graph.add_constant(output.name + "/repeated", std::move(constant));
  graph.replace_node(id, std::move(op), {source});
  return true;
}

/// The result of a layer for one row of equal numbers.
ir::Tensor row_of(const ir::FullyConnected& op, float number, const ir::Tensor& weights,
                  const ir::Tensor* bias) {
  ir::Tensor x(ir::ElementType::kFloat32, {1, weights.shape()[1]});
  std::ranges::fill(x.as<float>(), number);
  std::vector<const ir::Tensor*> inputs{&x, &weights};
  if (bias != nullptr) inputs.push_back(bias);
  return ir::evaluate_operator(op, inputs).reshaped({weights.shape()[0]});
}

bool fold_layer(ir::Graph& graph, ir::NodeId id, const ir::FullyConnected& op, float number) {
  const std::vector<ir::ValueId>& inputs = graph.node(id).inputs;
  const ir::Tensor* weights = float_constant(graph, inputs[1]);
  const bool has_bias = inputs.size() > 2 && inputs[2] != ir::kAbsent;
  const ir::Tensor* bias = has_bias ? float_constant(graph, inputs[2]) : nullptr;
  if (weights == nullptr || (has_bias && bias == nullptr)) return false;
  return repeat(graph, id, row_of(op, number, *weights, bias));
}

/// The shape with extents of 1 in front.
ir::Shape with_rank(const ir::Shape& shape, std::size_t rank) {
  std::vector<ir::Dim> dims(rank - std::min(rank, shape.rank()), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return ir::Shape(std::move(dims));
}

/// Whether two operands of a Binary give a result its extents. All have one rank.
bool give_shape(const ir::Shape& a, const ir::Shape& b, const ir::Shape& result) {
  for (std::size_t axis = 0; axis < result.rank(); ++axis) {
    if (a[axis] != result[axis] && b[axis] != result[axis]) return false;
  }
  return true;
}

/// The result for a repeated constant and another constant, which is repeated instead.
bool fold_operands(ir::Graph& graph, ir::NodeId id, const std::vector<ir::ValueId>& operands) {
  const ir::Tensor* a = float_constant(graph, operands[0]);
  const ir::Tensor* b = float_constant(graph, operands[1]);
  if (a == nullptr || b == nullptr) return false;
  const bool grows = a->size() != 1 && b->size() != 1 && a->shape() != b->shape();
  const bool is_float = graph.value(graph.node(id).output).type.is_dense(ir::ElementType::kFloat32);
  if (grows || !is_float) return false;
  const std::vector<const ir::Tensor*> inputs{a, b};
  return repeat(graph, id, ir::evaluate_operator(graph.node(id).op, inputs));
}

bool read_constants(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const ir::Shape result = graph.value(node.output).type.shape;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ir::ValueId source = repeated(graph, node.inputs[i]);
    if (source == ir::kAbsent) continue;
    std::vector<ir::ValueId> inputs = node.inputs;
    inputs[i] = source;
    if (fold_operands(graph, id, inputs)) return true;
    const ir::Shape other = graph.value(inputs[1 - i]).type.shape;
    const ir::Shape own = with_rank(graph.value(source).type.shape, result.rank());
    if (!give_shape(own, with_rank(other, result.rank()), result)) continue;
    if (other.rank() < result.rank()) {
      inputs[i] = graph.add_constant(graph.value(node.inputs[i]).name + "/row",
                                     float_constant(graph, source)->reshaped(own));
    }
    graph.replace_node(id, node.op, std::move(inputs));
    return true;
  }
  return false;
}

bool fold_node(ir::Graph& graph, ir::NodeId id) {
  const ir::Operator op = graph.node(id).op;
  if (std::holds_alternative<ir::Binary>(op)) return read_constants(graph, id);
  const ir::ValueId source = repeated(graph, graph.node(id).inputs[0]);
  const ir::Tensor* number = source == ir::kAbsent ? nullptr : float_constant(graph, source);
  if (number == nullptr || number->size() != 1) return false;
  if (const auto* layer = std::get_if<ir::FullyConnected>(&op)) {
    return fold_layer(graph, id, *layer, number->as<float>()[0]);
  }
  const bool moves = std::holds_alternative<ir::Reshape>(op) ||
                     std::holds_alternative<ir::Slice>(op) ||
                     std::holds_alternative<ir::Transpose>(op);
  return moves && repeat(graph, id, number->reshaped({}));
}

}  // namespace

bool fold_broadcasts(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) changed = fold_node(graph, id) || changed;
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes

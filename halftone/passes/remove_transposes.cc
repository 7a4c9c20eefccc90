// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/ir/ops/axes.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

using Permutation = std::vector<std::size_t>;

Permutation inverse(const Permutation& permutation) {
  Permutation result(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = i;
  return result;
}

/// What a transposed value was before; kAbsent if no transpose computes it.
ir::ValueId source_of(const ir::Graph& graph, ir::ValueId id) {
  if (computed_by<ir::Transpose>(graph, id) == nullptr) return ir::kAbsent;
  return graph.node(*graph.producer(id)).inputs[0];
}

/// Transpose of Transpose: one of the composed permutation, or none.
bool merge_two(ir::Graph& graph, ir::NodeId id, const Permutation& outer) {
  const ir::ValueId between = graph.node(id).inputs[0];
  const ir::ValueId source = source_of(graph, between);
  if (source == ir::kAbsent) return false;
  const Permutation& inner = computed_by<ir::Transpose>(graph, between)->permutation;
  Permutation composed(outer.size());
  for (std::size_t i = 0; i < outer.size(); ++i) composed[i] = inner[outer[i]];
  graph.replace_node(id, ir::Transpose{composed}, {source});
  if (is_identity(composed)) replace_value(graph, graph.node(id).output, source);
  return true;
}

/// A transpose that leaves the order of the elements as it is.
bool turn_into_reshape(ir::Graph& graph, ir::NodeId id, const Permutation& permutation) {
  if (is_identity(permutation)) return false;
  const ir::Node node = graph.node(id);
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  Permutation longer;  // the axes that are not of extent 1
  for (const std::size_t axis : permutation) {
    if (shape[axis] != 1) longer.push_back(axis);
  }
  if (!std::ranges::is_sorted(longer)) return false;
  graph.replace_node(id, ir::Reshape{graph.value(node.output).type.shape}, node.inputs);
  return true;
}

/// Transpose of what a constant stores: the constant is transposed instead.
bool lift_into_constant(ir::Graph& graph, ir::NodeId id, const Permutation& permutation) {
  const ir::ValueId x = graph.node(id).inputs[0];
  if (graph.constant(x) != nullptr || !is_stored(graph, x) || only_reader(graph, x) != id) {
    return false;
  }
  const ir::NodeId widening = *graph.producer(x);
  const ir::ValueId stored = graph.node(widening).inputs[0];
  if (dense_constant(graph, stored) == nullptr) return false;
  ir::Operator lifted = graph.node(widening).op;
  if (auto* op = std::get_if<ir::DequantizeLinear>(&lifted);
      op != nullptr && op->parameters.scales.size() > 1) {
    op->parameters.axis = inverse(permutation)[op->parameters.axis];
  }
  graph.absorb(widening, id, std::move(lifted), {transpose_constant(graph, stored, permutation)});
  return true;
}

/// Whether everyone who reads a transposed value could do so before the transpose, or is a
/// transpose itself.
bool is_passed_by_all(const ir::Graph& graph, ir::ValueId transposed, const Permutation& p) {
  if (std::ranges::count(graph.outputs(), transposed) > 0) return false;
  return std::ranges::all_of(graph.consumers(transposed), [&](ir::NodeId reader) {
    const ir::Operator& op = graph.node(reader).op;
    return std::holds_alternative<ir::Transpose>(op) || ir::before_transpose(op, p).has_value();
  });
}

/// Whether an operand is transposed by `p` for readers that all can do without, and not a constant,
/// which folds.
bool is_movable(const ir::Graph& graph, ir::ValueId operand, const Permutation& p) {
  const auto* transpose = computed_by<ir::Transpose>(graph, operand);
  return transpose != nullptr && transpose->permutation == p && !is_identity(p) &&
         is_passed_by_all(graph, operand, p) && !is_stored(graph, source_of(graph, operand));
}

/// Whether a constant stays inside the extents of what it is combined with.
bool is_matching_constant(const ir::Graph& graph, ir::ValueId operand, const ir::Node& reader,
                          ir::ValueId transposed) {
  return std::holds_alternative<ir::Binary>(reader.op) &&
         float_constant(graph, operand) != nullptr &&
         graph.value(reader.output).type == graph.value(transposed).type;
}

/// The constant as it must be to be combined before the transpose.
ir::ValueId constant_before(ir::Graph& graph, ir::ValueId constant, const Permutation& p) {
  const ir::Tensor& tensor = *float_constant(graph, constant);
  if (tensor.size() == 1) return constant;
  std::vector<ir::Dim> dims(p.size() - tensor.shape().rank(), 1);
  dims.insert(dims.end(), tensor.shape().dims().begin(), tensor.shape().dims().end());
  const ir::Tensor padded = tensor.reshaped(ir::Shape(std::move(dims)));
  const std::vector<const ir::Tensor*> inputs = {&padded};
  return graph.add_constant(replacement_name(graph, constant),
                            ir::evaluate_operator(ir::Transpose{inverse(p)}, inputs));
}

/// Whether an operand means the same before the transpose: a scalar, as a Pad's value.
bool stays(const ir::Graph& graph, ir::ValueId operand, const ir::Node& reader) {
  return std::holds_alternative<ir::Pad>(reader.op) && reader.inputs.size() > 1 &&
         operand == reader.inputs[1] && graph.value(operand).type.shape.rank() == 0;
}

/// Moves the transposes of a node's operands behind it.
bool sink(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const auto first = std::ranges::find_if(node.inputs, [&](ir::ValueId input) {
    return computed_by<ir::Transpose>(graph, input) != nullptr;
  });
  if (first == node.inputs.end()) return false;
  const Permutation p = computed_by<ir::Transpose>(graph, *first)->permutation;
  auto moved = is_identity(p) ? std::nullopt : ir::before_transpose(node.op, p);
  if (!moved) return false;
  for (const ir::ValueId input : node.inputs) {
    const bool fits = is_movable(graph, input, p) || stays(graph, input, node) ||
                      is_matching_constant(graph, input, node, *first);
    if (!fits) return false;
  }
  std::vector<ir::ValueId> sources;
  for (const ir::ValueId input : node.inputs) {
    const ir::ValueId source = stays(graph, input, node) ? input : source_of(graph, input);
    sources.push_back(source != ir::kAbsent ? source : constant_before(graph, input, p));
  }
  const std::string name = graph.value(node.output).name;
  const std::string transpose_name = graph.node(*graph.producer(*first)).name;
  const ir::ValueId result = graph.add_node(node.name, std::move(moved->op), std::move(sources),
                                            name + "/" + transpose_name);
  ir::Transpose after{std::move(moved->after)};
  graph.replace_uses(node.output, graph.add_node(transpose_name, std::move(after), {result}, name));
  graph.remove_node(id);
  return true;
}

bool rewrite(ir::Graph& graph, ir::NodeId id) {
  const auto* transpose = std::get_if<ir::Transpose>(&graph.node(id).op);
  if (transpose == nullptr) return sink(graph, id);
  const Permutation permutation = transpose->permutation;
  // A transpose that is a reshape is lifted first: the weights stay integers of a layer.
  return merge_two(graph, id, permutation) || lift_into_constant(graph, id, permutation) ||
         turn_into_reshape(graph, id, permutation);
}

}  // namespace

bool remove_transposes(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    if (graph.contains(id)) changed = rewrite(graph, id) || changed;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes

// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/rewrite.h"

#include <algorithm>

namespace halftone::passes {
namespace {

bool contains(std::span<const ir::ValueId> ids, ir::ValueId id) {
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace

std::optional<ir::NodeId> only_reader(const ir::Graph& graph, ir::ValueId id) {
  const std::vector<ir::NodeId> readers = graph.consumers(id);
  if (readers.size() != 1 || contains(graph.outputs(), id)) return std::nullopt;
  return readers.front();
}

const ir::Tensor* dense_constant(const ir::Graph& graph, ir::ValueId id) {
  const ir::Constant* constant = graph.constant(id);
  return constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
}

const ir::Tensor* float_constant(const ir::Graph& graph, ir::ValueId id) {
  const ir::Tensor* tensor = dense_constant(graph, id);
  return tensor != nullptr && tensor->element() == ir::ElementType::kFloat32 ? tensor : nullptr;
}

bool widens_storage(const ir::Graph& graph, const ir::Node& node) {
  if (std::holds_alternative<ir::DequantizeLinear>(node.op)) return true;
  return std::holds_alternative<ir::Cast>(node.op) &&
         is_half(graph.value(node.inputs[0]).type.encoding.element);
}

bool is_stored(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kAbsent) return false;
  if (graph.constant(id) != nullptr) return true;
  const auto producer = graph.producer(id);
  return producer && widens_storage(graph, graph.node(*producer)) &&
         graph.constant(graph.node(*producer).inputs[0]) != nullptr;
}

bool replace_value(ir::Graph& graph, ir::ValueId from, ir::ValueId to) {
  if (contains(graph.outputs(), from)) {
    if (contains(graph.inputs(), to) || contains(graph.outputs(), to)) return false;
    graph.rename(to, graph.value(from).name);
  }
  graph.replace_uses(from, to);
  if (const auto node = graph.producer(from)) graph.remove_node(*node);
  return true;
}

std::string replacement_name(const ir::Graph& graph, ir::ValueId constant) {
  const std::string& name = graph.value(constant).name;
  // The suffix is unique because ids are never reused.
  return graph.num_uses(constant) <= 1 ? name : name + "/" + std::to_string(graph.num_values());
}

ir::ValueId transpose_constant(ir::Graph& graph, ir::ValueId constant,
                               const std::vector<std::size_t>& permutation) {
  const std::vector<const ir::Tensor*> inputs = {dense_constant(graph, constant)};
  return graph.add_constant(replacement_name(graph, constant),
                            ir::evaluate_operator(ir::Transpose{permutation}, inputs));
}

bool is_identity(const std::vector<std::size_t>& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != i) return false;
  }
  return true;
}

}  // namespace halftone::passes

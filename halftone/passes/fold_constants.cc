// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/fold_constants.h"

#include <algorithm>

#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

bool may_fold(const ir::Graph& graph, const ir::Node& node, const FoldOptions& options) {
  if (std::holds_alternative<ir::Encode>(node.op)) return false;
  if (std::holds_alternative<ir::DequantizeLinear>(node.op) && !options.dequantize) return false;
  std::size_t input_bytes = 0;
  for (const ir::ValueId input : node.inputs) {
    if (input == ir::kAbsent) continue;
    const ir::Tensor* tensor = dense_constant(graph, input);
    if (tensor == nullptr) return false;
    input_bytes += tensor->bytes().size();
  }
  const ir::ValueType& type = graph.value(node.output).type;
  if (!type.shape.is_static()) return false;
  const std::size_t bytes = type.shape.element_count() * ir::size_bytes(type.encoding.element);
  return bytes <= input_bytes + options.max_growth_bytes;
}

ir::Tensor evaluate(const ir::Graph& graph, const ir::Node& node) {
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : node.inputs) inputs.push_back(dense_constant(graph, input));
  return ir::evaluate_operator(node.op, inputs);
}

}  // namespace

bool fold_constants(ir::Graph& graph, const FoldOptions& options) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    if (!may_fold(graph, graph.node(id), options)) continue;
    const ir::ValueId result = graph.node(id).output;
    const ir::ValueId constant =
        graph.add_constant(graph.value(result).name, evaluate(graph, graph.node(id)));
    graph.replace_uses(result, constant);
    graph.remove_node(id);
    changed = true;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "halftone/ir/open_extents.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

/// Whether everyone who reads a value takes it as weights.
bool is_weights(const ir::Graph& graph, ir::ValueId id) {
  return std::ranges::all_of(graph.consumers(id), [&](ir::NodeId reader) {
    const ir::Node& node = graph.node(reader);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::InputRole role = ir::input_role(node.op, i);
      const bool is_weight = role == ir::InputRole::kWeights || role == ir::InputRole::kFactor ||
                             (ir::is_table(node.op) && i == 0);
      if (node.inputs[i] == id && !is_weight) return false;
    }
    return true;
  });
}

/// The same, or transposes it for those who do: remove_transposes() moves that into the constant.
bool feeds_weights(const ir::Graph& graph, ir::ValueId id) {
  const auto transpose = only_reader(graph, id);
  if (transpose && std::holds_alternative<ir::Transpose>(graph.node(*transpose).op)) {
    id = graph.node(*transpose).output;
  }
  return is_weights(graph, id);
}

/// Whether a node reads elements that are to stay as the file stores them.
bool keeps_storage(const ir::Graph& graph, const ir::Node& node) {
  if (!widens_storage(graph, node)) return false;
  return std::holds_alternative<ir::DequantizeLinear>(node.op) || feeds_weights(graph, node.output);
}

bool may_fold(const ir::Graph& graph, const ir::Node& node, const FoldOptions& options) {
  // A loop may take long, and a plan of its body is faster than the reference implementation.
  if (std::holds_alternative<ir::Encode>(node.op) || std::holds_alternative<ir::Loop>(node.op)) {
    return false;
  }
  if (keeps_storage(graph, node) && !options.widen) return false;
  std::size_t input_bytes = 0;
  for (const ir::ValueId input : node.inputs) {
    if (input == ir::kAbsent) continue;
    const ir::Tensor* tensor = dense_constant(graph, input);
    if (tensor == nullptr) return false;
    input_bytes += tensor->bytes().size();
  }
  const ir::ValueType& type = graph.value(node.output).type;
  std::set<std::string> symbols;  // also of attributes
  ir::add_symbols(graph, node, symbols);
  if (!symbols.empty()) return false;
  if (widens_storage(graph, node)) return true;  // four times what the file holds at most
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

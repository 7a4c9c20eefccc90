// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/evaluate_graph.h"

#include <algorithm>
#include <map>

#include "halftone/ir/extent.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::ir {
namespace {

std::size_t batch_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto dims = graph.value(graph.inputs()[i]).type.shape.dims();
    const auto axis = std::ranges::find(dims, kBatch) - dims.begin();
    if (axis == std::ssize(dims)) continue;
    return static_cast<std::size_t>(inputs[i].shape()[static_cast<std::size_t>(axis)]);
  }
  return 1;
}

double elements_of(const Graph& graph, ValueId id) {
  return static_cast<double>(graph.value(id).type.shape.with_batch(1).element_count());
}

}  // namespace

double evaluation_work(const Graph& graph) {
  double work = 0;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    double terms = 1;
    if (traits_of(node.op).pattern == Pattern::kProduct) {
      const Shape& y = graph.value(node.output).type.shape;
      const Dim outputs = y.rank() == 0 ? 1 : std::max<Dim>(y.back(), 1);
      terms = elements_of(graph, node.inputs[1]) / static_cast<double>(outputs);
    }
    work += elements_of(graph, node.output) * terms;
    for (const ValueId input : node.inputs) {
      if (input != kAbsent) work += elements_of(graph, input);
    }
  }
  return work;
}

std::vector<Tensor> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::size_t batch = batch_of(graph, inputs);
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.emplace(graph.inputs()[i], inputs[i].clone());
  }
  const auto value = [&](ValueId id) -> const Tensor* {
    if (id == kAbsent) return nullptr;
    if (const Constant* constant = graph.constant(id); constant != nullptr) {
      const auto* dense = std::get_if<Tensor>(constant);
      if (dense != nullptr) return dense;
      return &values.try_emplace(id, to_float(*constant)).first->second;
    }
    return &values.at(id);
  };
  Sizes sizes;  // of a graph that computes some
  for (const Definition& each : graph.definitions()) {
    sizes.emplace(kBatchSymbol, static_cast<Dim>(batch));
    if (graph.producer(each.value)) continue;
    sizes.emplace(each.symbol, value(each.value)->as<std::int64_t>()[0]);
  }
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::vector<const Tensor*> operands;
    for (const ValueId input : node.inputs) operands.push_back(value(input));
    Operator op = with_batch(node.op, batch);
    if (!sizes.empty() && operands[0] != nullptr) {
      op = with_sizes(std::move(op), operands[0]->shape(), sizes);
    }
    values.emplace(node.output, evaluate_operator(op, operands));
    for (const Definition& each : graph.definitions()) {
      if (each.value != node.output) continue;
      sizes.emplace(each.symbol, values.at(node.output).as<std::int64_t>()[0]);
    }
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(value(id)->clone());
  return outputs;
}

}  // namespace halftone::ir

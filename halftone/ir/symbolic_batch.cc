// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/symbolic_batch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/axes.h"

namespace halftone::ir {
namespace {

std::optional<std::size_t> batch_axis(const Shape& shape) {
  const auto found = std::ranges::find_if(shape.dims(), depends_on_batch);
  if (found == shape.dims().end()) return std::nullopt;
  return static_cast<std::size_t>(found - shape.dims().begin());
}

Extent extent_before(const Shape& shape, std::size_t axis) {
  Extent product(1);
  for (std::size_t i = 0; i < axis; ++i) product = product * extent_of(shape[i]);
  return product;
}

/// Whether an operator keeps samples separate, given that its types fit. The shape rules of
/// operators that work along an axis already reject the batch there.
bool keeps_samples_apart(const Graph& graph, const Node& node) {
  const Shape& output = graph.value(node.output).type.shape;
  if (std::ranges::count_if(output.dims(), depends_on_batch) > 1) return false;
  const auto has_batch = [&](ValueId id) {
    return id != kAbsent && batch_axis(graph.value(id).type.shape).has_value();
  };
  // A result without the batch would be shared by all samples.
  if (std::ranges::any_of(node.inputs, has_batch) && !batch_axis(output)) return false;
  if (std::holds_alternative<ScatterND>(node.op) && has_batch(node.inputs[1])) return false;
  const Shape& input = graph.value(node.inputs[0]).type.shape;
  const auto axis = batch_axis(input);
  if (!axis) return true;
  if (std::ranges::count(mixed_axes(node.op, input.rank()), *axis) > 0) return false;
  if (std::holds_alternative<Reshape>(node.op)) {
    const auto to = batch_axis(output);
    return to && extent_before(input, *axis) == extent_before(output, *to);
  }
  return true;
}

/// The axis along which an input has one sample: the first, or that of a sequence.
std::optional<std::size_t> single_sample_axis(const Shape& shape) {
  constexpr std::size_t kSequenceRank = 3;
  const auto one = std::ranges::find(shape.dims(), 1);
  if (one == shape.dims().end()) return std::nullopt;
  const auto axis = static_cast<std::size_t>(one - shape.dims().begin());
  return axis == 0 || shape.rank() == kSequenceRank ? std::optional(axis) : std::nullopt;
}

/// A reshape of one sample as one of the batch: the batch stays behind the elements that are before
/// it.
Shape reshape_with_batch(const Shape& input, Shape target) {
  const auto from = batch_axis(input);
  if (!from) return target;
  const Extent before = extent_before(input, *from);
  Extent product(1);
  for (std::size_t axis = 0; axis < target.rank(); ++axis) {
    if (product == before && target[axis] != 0 && !depends_on_batch(target[axis])) {
      target[axis] = dim_of(extent_of(target[axis]) * extent_of(kBatch));
      break;
    }
    product = product * extent_of(target[axis]);
  }
  return target;
}

/// Repeats the operands of a Concat that do not depend on the batch for every sample.
void repeat_for_samples(Graph& graph, std::vector<ValueId>& inputs) {
  std::optional<std::size_t> axis;
  for (const ValueId id : inputs) {
    if (!axis) axis = batch_axis(graph.value(id).type.shape);
  }
  if (!axis) return;
  for (ValueId& id : inputs) {
    Shape shape = graph.value(id).type.shape;
    if (!shape.is_static() || *axis >= shape.rank() || shape[*axis] != 1) continue;
    shape[*axis] = kBatch;
    id = graph.add_node(graph.value(id).name + "/samples", BroadcastTo{shape}, {id});
  }
}

/// Infers all types in order.
bool infer_with_batch(Graph& graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    Operator op = node.op;
    std::vector<ValueId> inputs = node.inputs;
    if (auto* reshape = std::get_if<Reshape>(&op)) {
      reshape->shape = reshape_with_batch(graph.value(node.inputs[0]).type.shape, reshape->shape);
    }
    if (std::holds_alternative<Concat>(op)) repeat_for_samples(graph, inputs);
    // Replacing a node infers its output again, which throws if the batch does not fit.
    graph.replace_node(id, std::move(op), std::move(inputs));
    if (!keeps_samples_apart(graph, graph.node(id))) return false;
  }
  return true;
}

}  // namespace

std::optional<std::size_t> fixed_batch(const Graph& graph) {
  const auto is_static = [&](ValueId id) { return graph.value(id).type.shape.is_static(); };
  if (!std::ranges::all_of(graph.inputs(), is_static)) return std::nullopt;
  if (graph.inputs().empty()) return 1;
  const Shape& shape = graph.value(graph.inputs()[0]).type.shape;
  return shape.rank() == 0 ? 1 : static_cast<std::size_t>(std::max<Dim>(shape[0], 1));
}

bool try_symbolic_batch(Graph& graph) {
  Graph attempt = graph;
  for (const ValueId id : graph.inputs()) {
    ValueType type = graph.value(id).type;
    const auto axis = single_sample_axis(type.shape);
    if (!axis || batch_axis(type.shape)) return false;
    type.shape[*axis] = kBatch;
    attempt.set_input_type(id, std::move(type));
  }
  try {
    if (graph.inputs().empty() || !infer_with_batch(attempt)) return false;
  } catch (const Error&) {
    return false;  // the batch does not fit: the graph keeps its extent of 1
  }
  graph = std::move(attempt);
  return true;
}

void fill_in_batch(Graph& graph, std::size_t batch) {
  for (const ValueId id : graph.inputs()) {
    ValueType type = graph.value(id).type;
    type.shape = type.shape.with_batch(batch);
    graph.set_input_type(id, std::move(type));
  }
  for (const NodeId id : graph.topological_order()) {
    Operator op = with_batch(graph.node(id).op, batch);
    std::vector<ValueId> inputs = graph.node(id).inputs;
    graph.replace_node(id, std::move(op), std::move(inputs));
  }
}

}  // namespace halftone::ir

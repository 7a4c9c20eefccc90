// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/work.h"

#include <algorithm>
#include <utility>

namespace halftone::ir {
namespace {

std::size_t divided(std::size_t a, std::size_t b) { return b == 0 ? 0 : a / b; }

/// The shapes of a node at a batch.
struct NodeShapes {
  const Graph& graph;
  const Node& node;
  std::size_t batch;

  [[nodiscard]] const ValueType& type(std::size_t input) const {
    return graph.value(node.inputs[input]).type;
  }
  [[nodiscard]] Shape input(std::size_t i) const { return type(i).shape.with_batch(batch); }
  [[nodiscard]] Shape output() const {
    return graph.value(node.output).type.shape.with_batch(batch);
  }
};

/// An extent counted from the last axis; 1 for an axis that a shape lacks.
std::size_t extent_from_end(const Shape& shape, std::size_t from_end) {
  return shape.rank() < from_end ? 1 : static_cast<std::size_t>(shape[shape.rank() - from_end]);
}

Work factors(const NodeShapes& shapes) {
  Work work;
  work.x = shapes.type(0).encoding;
  work.w = shapes.type(1).encoding;
  return work;
}

Work products_of(const FullyConnected& /*op*/, const NodeShapes& shapes) {
  Work work = factors(shapes);
  const Shape x = shapes.input(0);
  work.count = 1;
  work.inner = extent_from_end(x, 1);
  work.rows = divided(x.element_count(), work.inner);
  work.cols = static_cast<std::size_t>(shapes.input(1)[0]);
  return work;
}

Work products_of(const Conv& op, const NodeShapes& shapes) {
  Work work = factors(shapes);
  const Shape w = shapes.input(1);
  const auto filters = static_cast<std::size_t>(w[0]);
  work.count = static_cast<std::size_t>(op.groups);
  work.rows = divided(shapes.output().element_count(), filters);
  work.inner = divided(w.element_count(), filters);
  work.taps = divided(work.inner, extent_from_end(w, 1));
  work.cols = divided(filters, work.count);
  return work;
}

Work products_of(const ConvTranspose& op, const NodeShapes& shapes) {
  Work work = factors(shapes);
  const Shape x = shapes.input(0);
  const Shape w = shapes.input(1);
  work.count = static_cast<std::size_t>(op.groups);
  work.rows = divided(x.element_count(), extent_from_end(x, 1));
  work.inner = extent_from_end(w, 1);
  work.cols = divided(w.element_count(), work.inner * work.count);
  return work;
}

Work products_of(const MatMul& op, const NodeShapes& shapes) {
  Work work = factors(shapes);
  const Shape a = shapes.input(0);
  const Shape b = shapes.input(1);
  // A vector on the left is a row, on the right a column.
  work.rows = a.rank() == 1 ? 1 : extent_from_end(a, op.transpose_a ? 1 : 2);
  work.inner = extent_from_end(a, a.rank() > 1 && op.transpose_a ? 2 : 1);
  work.cols = b.rank() == 1 ? 1 : extent_from_end(b, op.transpose_b ? 2 : 1);
  work.count = divided(shapes.output().element_count(), work.rows * work.cols);
  return work;
}

Work products_of(const Recurrent& op, const NodeShapes& shapes) {
  Work work;
  work.x = {ElementType::kFloat32, op.state_encoding};
  work.w = shapes.type(kRecurrenceWeights).encoding;
  const Shape gates = shapes.input(kGates);
  const Shape w = shapes.input(kRecurrenceWeights);
  work.count = static_cast<std::size_t>(gates[1 - batch_axis(op)]);
  work.rows = static_cast<std::size_t>(gates[batch_axis(op)]);
  work.inner = static_cast<std::size_t>(w[1]);
  work.cols = static_cast<std::size_t>(w[0]);
  return work;
}

Work products_of(const ExpertProduct& /*op*/, const NodeShapes& shapes) {
  Work work = factors(shapes);
  const Shape w = shapes.input(1);
  work.count = 1;
  work.rows = shapes.input(2).element_count();
  work.inner = extent_from_end(w, 1);
  work.cols = extent_from_end(w, 2);
  return work;
}

/// Those of all iterations, as products of single numbers.
Work products_of(const Loop& op, const NodeShapes& shapes) {
  double products = 0;
  for (const NodeId id : op.body->topological_order()) {
    products += work_of(*op.body, op.body->node(id), shapes.batch).products();
  }
  const Dim trips = op.trips ? Shape{*op.trips}.with_batch(shapes.batch)[0] : 1;
  Work work;
  work.count = static_cast<std::size_t>(products * static_cast<double>(trips));
  work.rows = work.inner = work.cols = 1;
  return work;
}

template <typename Op>
Work products_of(const Op& /*op*/, const NodeShapes& /*shapes*/) {
  return {};
}

Traffic traffic_of(const Graph& graph, ValueId id, std::size_t batch) {
  const ValueType& type = graph.value(id).type;
  Traffic traffic{id, type.encoding, 0};
  if (const Constant* constant = graph.constant(id)) {
    traffic.bytes = static_cast<double>(storage_bytes(*constant));
    return traffic;
  }
  double bits = 8 * static_cast<double>(size_bytes(type.encoding.element));
  if (type.encoding.blocks != nullptr) bits = type.encoding.blocks->bits();
  if (type.encoding.codes != nullptr) bits = type.encoding.codes->bits;
  traffic.bytes = static_cast<double>(type.shape.with_batch(batch).element_count()) * bits / 8;
  return traffic;
}

}  // namespace

double Work::bytes_read() const {
  double sum = 0;
  for (const Traffic& each : reads) sum += each.bytes;
  return sum;
}

Work work_of(const Graph& graph, const Node& node, std::size_t batch) {
  const NodeShapes shapes{graph, node, batch};
  Work work = std::visit([&](const auto& op) { return products_of(op, shapes); }, node.op);
  work.elements = element_work(graph, node, batch);
  for (const ValueId input : node.inputs) {
    if (input != kAbsent) work.reads.push_back(traffic_of(graph, input, batch));
  }
  if (std::holds_alternative<ExpertProduct>(node.op)) {
    const double experts = static_cast<double>(shapes.input(1)[0]);
    work.reads[1].bytes *= std::min(1.0, static_cast<double>(work.rows) / experts);
  }
  work.writes = traffic_of(graph, node.output, batch);
  return work;
}

}  // namespace halftone::ir

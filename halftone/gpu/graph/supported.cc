// SPDX-License-Identifier: Apache-2.0
// Which nodes a device has kernels for.
#include <algorithm>
#include <set>

#include "halftone/gpu/graph/node_launches.h"

namespace halftone::gpu {
namespace {

bool is_float(const ir::ValueType& type) { return type.is_dense(ir::ElementType::kFloat32); }

/// A node with its graph.
struct Asked {
  const ir::Graph& graph;
  const ir::Node& node;

  [[nodiscard]] const ir::ValueType& input(std::size_t i) const {
    return graph.value(node.inputs[i]).type;
  }
  [[nodiscard]] bool are_floats() const {
    for (const ir::ValueId id : node.inputs) {
      if (id != ir::kAbsent && !is_float(graph.value(id).type)) return false;
    }
    return true;
  }
  /// Whether an input is what a TopK gives.
  [[nodiscard]] bool is_chosen(std::size_t i) const {
    const auto producer = graph.producer(node.inputs[i]);
    return producer && std::holds_alternative<ir::TopK>(graph.node(*producer).op);
  }
  [[nodiscard]] std::size_t last_axis() const { return input(0).shape.rank() - 1; }
  /// A constant matrix in groups, or of floats.
  [[nodiscard]] bool has_weights(std::size_t i) const {
    return graph.constant(node.inputs[i]) != nullptr &&
           (input(i).encoding.blocks != nullptr || is_float(input(i)));
  }
};

/// Whether the extents of `small` are the last ones of `large`.
bool are_last(const ir::Shape& small, const ir::Shape& large) {
  std::size_t first = 0;
  while (first < small.rank() && small[first] == 1) ++first;
  if (small.rank() - first > large.rank()) return false;
  for (std::size_t i = first; i < small.rank(); ++i) {
    if (small[i] != large[large.rank() - (small.rank() - i)]) return false;
  }
  return true;
}

/// Whether the extents of `small` are those of `large`, but the last one is 1.
bool is_column(const ir::Shape& small, const ir::Shape& large) {
  if (small.rank() != large.rank() || small.rank() == 0 || small.back() != 1) return false;
  const auto first = small.dims().first(small.rank() - 1);
  return std::ranges::equal(first, large.dims().first(first.size()));
}

template <typename Op>
bool has_kernel(const Op& /*op*/, const Asked& /*asked*/) {
  return false;
}
bool has_kernel(const ir::Reshape& /*op*/, const Asked& /*asked*/) { return true; }
bool has_kernel(const ir::Gather& op, const Asked& asked) {
  return op.axis == 0 && asked.has_weights(0) && asked.input(0).shape.rank() == 2 &&
         asked.input(1).is_dense(ir::ElementType::kInt32);
}
bool has_kernel(const ir::Normalize& op, const Asked& asked) {
  return asked.are_floats() && op.axes.size() == 1 && op.axes[0] == asked.last_axis();
}
bool has_kernel(const ir::Unary& op, const Asked& asked) {
  return asked.are_floats() && function_of(op.activation);
}
bool has_kernel(const ir::Binary& op, const Asked& asked) {
  const ir::Shape& a = asked.input(0).shape;
  const ir::Shape& b = asked.input(1).shape;
  return asked.are_floats() && operation_of(op.kind) && function_of(op.activation) &&
         (are_last(a, b) || are_last(b, a) || is_column(a, b) || is_column(b, a));
}
bool has_kernel(const ir::FullyConnected& op, const Asked& asked) {
  return is_float(asked.input(0)) && asked.has_weights(1) && function_of(op.activation).has_value();
}
bool has_kernel(const ir::Softmax& op, const Asked& asked) {
  return asked.are_floats() && op.axis == asked.last_axis() && op.beta == 1 && !op.log;
}
// Indices are int32 on a device.
bool has_kernel(const ir::TopK& op, const Asked& asked) {
  return asked.are_floats() && op.axis == asked.last_axis() && op.largest;
}
bool has_kernel(const ir::GatherElements& op, const Asked& asked) {
  return is_float(asked.input(0)) && op.axis == asked.last_axis() && asked.is_chosen(1) &&
         std::ranges::equal(asked.input(0).shape.dims().first(op.axis),
                            asked.input(1).shape.dims().first(op.axis));
}
bool has_kernel(const ir::Reduce& op, const Asked& asked) {
  return asked.are_floats() && op.kind == ir::ReduceKind::kSum && op.axes.size() == 1;
}
bool has_kernel(const ir::ExpertProduct& op, const Asked& asked) {
  return is_float(asked.input(0)) && asked.graph.constant(asked.node.inputs[1]) != nullptr &&
         asked.input(1).encoding.blocks != nullptr && asked.is_chosen(2) &&
         function_of(op.activation).has_value();
}
bool has_kernel(const ir::Rotary& /*op*/, const Asked& asked) { return is_float(asked.input(0)); }
bool has_kernel(const ir::AppendRows& /*op*/, const Asked& asked) {
  return runtime::cache_use(asked.graph, asked.node.output).has_value();
}
bool has_kernel(const ir::Attention& /*op*/, const Asked& asked) {
  return runtime::caches_of(asked.graph, asked.node).has_value();
}
bool has_kernel(const ir::Slice& op, const Asked& asked) {
  return asked.are_floats() && op.step == 1 && op.axis == asked.last_axis();
}

}  // namespace

std::string unsupported_on_device(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const Asked asked{graph, node};
    const bool has = std::visit([&](const auto& op) { return has_kernel(op, asked); }, node.op);
    if (has) continue;
    names.emplace(ir::name_of(node.op));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace halftone::gpu

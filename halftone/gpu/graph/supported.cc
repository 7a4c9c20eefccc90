// SPDX-License-Identifier: Apache-2.0
// Which nodes a device has kernels for.
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
         (are_last(a, b) || are_last(b, a));
}
bool has_kernel(const ir::FullyConnected& op, const Asked& asked) {
  return is_float(asked.input(0)) && asked.has_weights(1) && function_of(op.activation).has_value();
}
bool has_kernel(const ir::Rotary& /*op*/, const Asked& asked) { return is_float(asked.input(0)); }
bool has_kernel(const ir::AppendRows& op, const Asked& asked) {
  return op.numbers != ir::CacheNumbers::kInt8 &&
         runtime::cache_use(asked.graph, asked.node.output).has_value();
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
    const auto* append = std::get_if<ir::AppendRows>(&node.op);
    const bool is_int8 = append != nullptr && append->numbers == ir::CacheNumbers::kInt8;
    names.insert(is_int8 ? "caches of int8" : std::string(ir::name_of(node.op)));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace halftone::gpu

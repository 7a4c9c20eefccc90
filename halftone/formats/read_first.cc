// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/read_first.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/axes.h"

namespace halftone::formats {
namespace {

bool has_batch(const ir::Graph& graph, ir::ValueId id) {
  return id != ir::kAbsent &&
         std::ranges::any_of(graph.value(id).type.shape.dims(), ir::depends_on_batch);
}

bool mixes_samples(const ir::Graph& graph, const ir::Node& node) {
  const bool reads =
      std::ranges::any_of(node.inputs, [&](ir::ValueId input) { return has_batch(graph, input); });
  // The record of a loop is one of bytes, whatever its results are.
  if (!reads || std::holds_alternative<ir::Loop>(node.op)) return false;
  const auto batches =
      std::ranges::count_if(graph.value(node.output).type.shape.dims(), ir::depends_on_batch);
  if (batches != 1) return true;
  const ir::Shape& x = graph.value(node.inputs[0]).type.shape;
  return std::ranges::any_of(ir::mixed_axes(node.op, x.rank()),
                             [&](std::size_t axis) { return ir::depends_on_batch(x[axis]); });
}

}  // namespace

void require_independent_samples(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (!mixes_samples(graph, graph.node(id))) continue;
    fail(ErrorKind::kShape, ir::describe(graph.node(id)) + " mixes samples");
  }
}

ir::Graph read_first(std::span<const WayToRead> ways) {
  std::exception_ptr first;
  for (const WayToRead& way : ways) {
    try {
      if (auto graph = way()) return std::move(*graph);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kMemory || error.kind() == ErrorKind::kUsage) throw;
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

}  // namespace halftone::formats

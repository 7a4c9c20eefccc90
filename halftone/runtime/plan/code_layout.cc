// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/code_layout.h"

#include <algorithm>

#include "halftone/runtime/plan/choose.h"

namespace halftone::runtime {
namespace {

/// The readers of a value that multiply its codes as integers.
std::vector<ir::NodeId> integer_readers(const ir::Graph& graph, ir::ValueId codes,
                                        const PlanOptions& options) {
  std::vector<ir::NodeId> readers;
  for (const ir::NodeId id : graph.consumers(codes)) {
    const ir::Node& reader = graph.node(id);
    if (std::ranges::count(reader.inputs, codes) != 1 || reader.inputs[0] != codes) continue;
    if (preferred_layout(context_of(graph, reader, options, {})) == CodeLayout::kInt8) {
      readers.push_back(id);
    }
  }
  return readers;
}

/// A copy of an Encode for some of its readers.
ir::ValueId split_encode(ir::Graph& graph, ir::NodeId id, std::span<const ir::NodeId> readers) {
  const ir::Node encode = graph.node(id);
  const ir::ValueId copy = graph.add_node(encode.name, encode.op, encode.inputs);
  for (const ir::NodeId reader : readers) {
    ir::Operator op = graph.node(reader).op;
    std::vector<ir::ValueId> inputs = graph.node(reader).inputs;
    std::ranges::replace(inputs, encode.output, copy);
    graph.replace_node(reader, std::move(op), std::move(inputs));
  }
  return copy;
}

}  // namespace

std::vector<CodeLayout> choose_code_layouts(ir::Graph& graph, const PlanOptions& options) {
  std::vector<ir::ValueId> integers;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::ValueId codes = graph.node(id).output;
    if (graph.value(codes).type.encoding.is_dense()) continue;
    const std::vector<ir::NodeId> readers = integer_readers(graph, codes, options);
    if (readers.empty()) continue;
    const bool all = readers.size() == graph.num_uses(codes);
    integers.push_back(all ? codes : split_encode(graph, id, readers));
  }
  std::vector<CodeLayout> layouts(graph.num_values(), CodeLayout::kPlanes);
  for (const ir::ValueId id : integers) layouts[static_cast<std::size_t>(id)] = CodeLayout::kInt8;
  return layouts;
}

}  // namespace halftone::runtime

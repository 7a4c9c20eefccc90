// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/extent_value.h"

#include <algorithm>
#include <set>
#include <span>

#include "halftone/base/error.h"

namespace halftone::formats {
namespace {

ir::ValueId add_number(ir::Graph& graph, const std::string& name, std::int64_t number) {
  return graph.add_constant(name, ir::Tensor::from<std::int64_t>({}, std::span(&number, 1)));
}

}  // namespace

bool has_computed(const ir::Extent& extent) {
  std::set<std::string> names;
  extent.add_symbols(names);
  return std::ranges::any_of(names, ir::is_computed);
}

ir::ValueId add_extent_value(ir::Graph& graph, const std::string& name, const ir::Extent& extent) {
  const auto symbol = extent.name();
  for (const ir::Definition& each : graph.definitions()) {
    if (symbol == each.symbol) return each.value;
  }
  if (const auto number = extent.number()) return add_number(graph, name, *number);
  if (extent.depends_on_batch()) {
    fail(ErrorKind::kUnsupported,
         "reads '" + name + "', which depends on the batch: only shape arithmetic can use it");
  }
  if (!extent.is_at_least(0)) {
    const ir::ValueId above = add_extent_value(graph, name, ir::Extent::greatest(0, extent));
    const ir::ValueId below =
        add_extent_value(graph, name, ir::Extent::greatest(0, ir::Extent(0) - extent));
    return graph.add_node(name, ir::Binary{ir::BinaryKind::kSub, {}}, {above, below});
  }
  const ir::ValueId ones = graph.add_node(name + "/ones", ir::BroadcastTo{{ir::dim_of(extent)}},
                                          {add_number(graph, name + "/one", 1)});
  return graph.add_node(name, ir::Reduce{ir::ReduceKind::kSum, {0}, false}, {ones});
}

}  // namespace halftone::formats

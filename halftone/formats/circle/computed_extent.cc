// SPDX-License-Identifier: Apache-2.0
// Integers that the network computes as extents.
#include <utility>

#include "halftone/formats/circle/importer.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

/// The element of another value that an element of a list is: behind conversions, and of one part
/// of a list that is joined.
std::pair<ir::ValueId, std::size_t> source_of(const ir::Graph& graph, ir::ValueId list,
                                              std::size_t index) {
  while (const auto producer = graph.producer(list)) {
    const ir::Node& node = graph.node(*producer);
    if (std::holds_alternative<ir::Cast>(node.op) || std::holds_alternative<ir::Reshape>(node.op)) {
      const ir::ValueType& from = graph.value(node.inputs[0]).type;
      if (from.is_dense(ir::ElementType::kFloat32) || from.shape.rank() > 1) break;
      list = node.inputs[0];
    } else if (std::holds_alternative<ir::Concat>(node.op)) {
      std::size_t part = 0;
      const auto count = [&] {
        return static_cast<std::size_t>(graph.value(node.inputs[part]).type.shape[0]);
      };
      while (index >= count()) index -= count(), ++part;
      list = node.inputs[part];
    } else {
      break;
    }
  }
  return {list, index};
}

}  // namespace

ir::Dim Importer::computed_extent(ir::ValueId list, std::size_t index) {
  const auto source = source_of(graph_, list, index);
  if (const ir::Tensor* extents = symbolic(source.first)) {
    return extents->as<ir::Dim>()[source.second];
  }
  if (const ir::Constant* constant = graph_.constant(source.first)) {
    const ir::Tensor wide = std::get<ir::Tensor>(*constant).cast(ir::ElementType::kInt64);
    return wide.as<std::int64_t>()[source.second];
  }
  const auto known = computed_.find(source);
  if (known != computed_.end()) return known->second;
  const std::string name = graph_.value(source.first).name + "/extent" + std::to_string(index);
  ir::ValueId number = source.first;
  if (graph_.value(number).type.shape.rank() == 1) {
    number = graph_.add_node(name, ir::Slice{0, source.second, 1, 1}, {number});
  }
  if (!graph_.value(number).type.is_dense(ir::ElementType::kInt64)) {
    number = graph_.add_node(name, ir::Cast{ir::ElementType::kInt64}, {number});
  }
  if (graph_.value(number).type.shape.rank() != 0) {
    number = graph_.add_node(name, ir::Reshape{{}}, {number});
  }
  const std::string symbol = graph_.fresh_symbol();
  graph_.define(symbol, number);
  return computed_[source] = ir::dim_of(ir::Extent::symbol(symbol));
}

}  // namespace halftone::formats::circle

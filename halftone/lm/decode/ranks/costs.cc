// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/ranks/costs.h"

#include <algorithm>

#include "halftone/lm/decode/ranks/stages.h"

namespace halftone::lm {
namespace {

/// The part of a value that the rank with most of it has.
double largest_share(const ir::Shape& shape, const Division& division) {
  const Range& most = std::ranges::max(division.ranges, {}, &Range::count);
  return static_cast<double>(most.count) / static_cast<double>(shape[division.axis_of(shape)]);
}

/// Bytes of the matrix that a node multiplies with; 0: it does not.
std::size_t matrix_bytes(const ir::Graph& graph, const ir::Node& node) {
  const bool multiplies = std::holds_alternative<ir::FullyConnected>(node.op) ||
                          std::holds_alternative<ir::ExpertProduct>(node.op);
  const ir::Constant* matrix = multiplies ? graph.constant(node.inputs[1]) : nullptr;
  return matrix == nullptr ? 0 : ir::storage_bytes(*matrix);
}

void add_costs(const ir::Graph& graph, const DivideOptions& options, RankCosts& costs) {
  const ValueDivisions divisions(graph, options);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const std::optional<Division>& division = divisions.of(node.output);
    const double share =
        division ? largest_share(graph.value(node.output).type.shape, *division) : 1;
    costs.shares[node.name] = share;
    costs.matrix_bytes += share * static_cast<double>(matrix_bytes(graph, node));
  }
  for (const auto& exchange : exchanges_of(graph, options)) {
    double bytes = 0;
    for (const StageOutput& output : exchange) {
      const ir::ValueType& type = graph.value(output.stored.value).type;
      bytes += static_cast<double>(type.shape.with_batch(1).element_count() *
                                   ir::size_bytes(type.encoding.element));
    }
    if (bytes > 0) costs.exchanged_bytes.push_back(bytes);
  }
}

}  // namespace

RankCosts costs_on_ranks(const DecoderGraphs& graphs, std::size_t ranks) {
  RankCosts costs;
  add_costs(graphs.body, {.ranks = ranks}, costs);
  add_costs(graphs.head, {.ranks = ranks}, costs);
  return costs;
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/code_layout.h"

#include <algorithm>
#include <limits>

#include "halftone/runtime/plan/choose.h"

namespace halftone::runtime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class LayoutChooser {
 public:
  LayoutChooser(const ir::Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), layouts_(graph.num_values(), CodeLayout::kPlanes) {}

  std::vector<CodeLayout> choose_all() {
    for (const ir::NodeId id : graph_.topological_order()) {
      const ir::ValueId codes = graph_.node(id).output;
      if (graph_.value(codes).type.encoding.is_dense()) continue;
      const bool is_better = is_int8_better(codes);
      layout(codes) = is_better ? CodeLayout::kInt8 : CodeLayout::kPlanes;
    }
    return std::move(layouts_);
  }

 private:
  CodeLayout& layout(ir::ValueId id) { return layouts_[static_cast<std::size_t>(id)]; }

  /// The cost of a reader if its codes have this layout; infinite if only the reference
  /// implementation reads it.
  double cost_us(const ir::Node& reader, ir::ValueId codes, CodeLayout as) {
    layout(codes) = as;
    const Choice choice = choose(context_of(graph_, reader, options_, layouts_));
    return choice.verdict.cost_us.value_or(kInfinity);
  }

  bool is_int8_better(ir::ValueId codes) {
    if (std::ranges::find(graph_.outputs(), codes) != graph_.outputs().end()) return false;
    double saved = 0;
    for (const ir::NodeId id : graph_.consumers(codes)) {
      const ir::Node& reader = graph_.node(id);
      if (std::ranges::count(reader.inputs, codes) != 1 || reader.inputs[0] != codes) return false;
      const double us = cost_us(reader, codes, CodeLayout::kInt8);
      if (us == kInfinity) return false;
      saved += cost_us(reader, codes, CodeLayout::kPlanes) - us;
    }
    return saved > 0;
  }

  const ir::Graph& graph_;
  const PlanOptions& options_;
  std::vector<CodeLayout> layouts_;  ///< by value
};

}  // namespace

std::vector<CodeLayout> choose_code_layouts(const ir::Graph& graph, const PlanOptions& options) {
  return LayoutChooser(graph, options).choose_all();
}

}  // namespace halftone::runtime

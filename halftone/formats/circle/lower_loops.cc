// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/lower.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

class LoopRewrite : NodeRewrite {
 public:
  LoopRewrite(ir::Graph& graph, ir::NodeId id)
      : NodeRewrite(graph, id), op_(std::get<ir::Loop>(node_.op)) {}

  void run() {
    const std::vector<ir::LoopResult> results = ir::results_of(op_);
    const std::size_t kept = results.size() - op_.stacks.size();
    const std::vector<ir::SliceAxis> stacks = op_.stacks;
    for (ir::SliceAxis& stack : op_.stacks) stack.axis = 0;
    std::vector<ValueId> inputs = node_.inputs;
    inputs[0] = scalar(inputs[0]);
    inputs[1] = scalar(inputs[1]);
    if (inputs == node_.inputs && stacks == op_.stacks) return;
    const std::vector<ir::LoopResult> plain = ir::results_of(op_);
    const ValueId record = graph_.add_node(node_.name, op_, std::move(inputs));
    for (const ir::NodeId id : graph_.consumers(node_.output)) {
      const auto* part = std::get_if<ir::LoopResult>(&graph_.node(id).op);
      if (part == nullptr) continue;
      const auto at = static_cast<std::size_t>(std::ranges::find(results, *part) - results.begin());
      ValueId value = graph_.add_node(graph_.node(id).name, plain.at(at), {record});
      if (at >= kept && stacks[at - kept].axis != 0) value = moved(value, stacks[at - kept].axis);
      const ValueId old = graph_.node(id).output;
      graph_.rename(value, graph_.value(old).name);
      graph_.replace_uses(old, value);
    }
  }

 private:
  ValueId scalar(ValueId flag) {
    if (flag == ir::kAbsent || graph_.value(flag).type.shape.rank() == 0) return flag;
    const ir::Constant* constant = graph_.constant(flag);
    if (constant == nullptr) return add(ir::Reshape{{}}, {flag});
    const ir::Tensor* tensor = &std::get<ir::Tensor>(*constant);
    return graph_.add_constant(graph_.value(flag).name,
                               ir::evaluate_operator(ir::Reshape{{}}, {&tensor, 1}));
  }
  /// With its first axis elsewhere.
  ValueId moved(ValueId value, std::size_t axis) {
    std::vector<std::size_t> permutation(graph_.value(value).type.shape.rank());
    std::iota(permutation.begin(), permutation.end(), std::size_t{0});
    std::rotate(permutation.begin(), permutation.begin() + 1,
                permutation.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    return add(ir::Transpose{std::move(permutation)}, {value});
  }

  ir::Loop op_;
};

}  // namespace

void lower_loops(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (std::holds_alternative<ir::Loop>(graph.node(id).op)) LoopRewrite(graph, id).run();
  }
  graph.remove_unused_nodes();
}

}  // namespace halftone::formats::circle

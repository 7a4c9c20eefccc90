// SPDX-License-Identifier: Apache-2.0
// Lowers a single step of an LSTM between states that are values of the graph, as networks that run
// on a stream have it. The file's LSTM keeps its states in variables and has no cells as output.
#include "halftone/formats/circle/lower.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::ValueId;

/// Whether a node is such a step in float32.
bool is_step(const ir::Graph& graph, const ir::Node& node) {
  const auto* op = std::get_if<ir::Recurrent>(&node.op);
  if (op == nullptr || op->kind != ir::RecurrentKind::kLstm) return false;
  const ir::Shape& gates = graph.value(node.inputs[ir::kGates]).type.shape;
  const bool has_states = node.has_input(ir::kInitialHidden) || node.has_input(ir::kInitialCell);
  return gates[1 - ir::batch_axis(*op)] == 1 && (has_states || op->with_cell) &&
         op->state_encoding == nullptr && op->clip == 0 && op->cell_clip == 0 &&
         !op->input_forget && !node.has_input(ir::kSequenceLengths) &&
         !node.has_input(ir::kPeepholes) &&
         graph.value(node.inputs[ir::kRecurrenceWeights]).type.encoding.is_dense();
}

/// Replaces one step by the formulas of ir::Recurrent.
class StepRewrite : NodeRewrite {
 public:
  StepRewrite(ir::Graph& graph, ir::NodeId id)
      : NodeRewrite(graph, id), op_(std::get<ir::Recurrent>(node_.op)) {}

  void run() {
    const ir::Shape output = graph_.value(node_.output).type.shape;
    const ir::Dim rows = graph_.value(node_.inputs[ir::kRecurrenceWeights]).type.shape[0];
    sums_ = add(ir::Reshape{{output[ir::batch_axis(op_)], rows}}, {node_.inputs[ir::kGates]});
    if (node_.has_input(ir::kInitialHidden)) {
      const ValueId inner = add(ir::FullyConnected{}, {node_.inputs[ir::kInitialHidden],
                                                       node_.inputs[ir::kRecurrenceWeights]});
      sums_ = add(ir::Binary{BinaryKind::kAdd, {}}, {sums_, inner});
    }
    hidden_ = static_cast<std::size_t>(rows) / 4;
    ValueId cell = product(gate(0, 0), gate(3, 1));
    if (node_.has_input(ir::kInitialCell)) {
      const ValueId kept = product(gate(2, 0), node_.inputs[ir::kInitialCell]);
      cell = add(ir::Binary{BinaryKind::kAdd, {}}, {kept, cell});
    }
    ValueId states = product(gate(1, 0), add(ir::Unary{op_.activations[2]}, {cell}));
    if (op_.with_cell) states = add(ir::Concat{1}, {states, cell});
    replace_output(add(ir::Reshape{output}, {states}));
  }

 private:
  ValueId product(ValueId a, ValueId b) { return add(ir::Binary{BinaryKind::kMul, {}}, {a, b}); }
  /// A function of the sums of a gate.
  ValueId gate(std::size_t index, std::size_t function) {
    const ValueId sums = add(ir::Slice{1, index * hidden_, 1, hidden_}, {sums_});
    return add(ir::Unary{op_.activations[function]}, {sums});
  }

  const ir::Recurrent op_;
  ValueId sums_ = ir::kAbsent;
  std::size_t hidden_ = 0;
};

}  // namespace

void lower_recurrent_steps(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (is_step(graph, graph.node(id))) StepRewrite(graph, id).run();
  }
  graph.remove_unused_nodes();
}

}  // namespace halftone::formats::circle

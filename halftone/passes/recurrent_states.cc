// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/recurrent_states.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::passes {
namespace {

using ir::Dim;
using ir::Recurrent;
using ir::ValueId;

class StateKeeper {
 public:
  explicit StateKeeper(ir::Graph& graph) : graph_(graph) {}

  std::size_t keep() {
    for (const ir::NodeId id : graph_.topological_order()) {
      if (std::holds_alternative<Recurrent>(graph_.node(id).op)) keep_node(id);
    }
    return kept_;
  }

 private:
  [[noreturn]] static void refuse(const ir::Node& node, const std::string& reason) {
    fail(ErrorKind::kUnsupported, describe(node) + ": " + reason + ", so it cannot go on in parts");
  }
  static ValueId input(const ir::Node& node, std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : ir::kAbsent;
  }

  /// Whether a layer starts from zeros, which a state may replace.
  bool starts_from_zeros(const ir::Node& node, std::size_t i) {
    const ValueId id = input(node, i);
    if (id == ir::kAbsent) return true;
    const ir::Constant* constant = graph_.constant(id);
    if (constant == nullptr) return false;
    const ir::Tensor start = to_float(*constant);
    const auto numbers = start.as<float>();
    if (std::ranges::any_of(numbers, [](float x) { return x != 0; })) {
      refuse(node, "it starts from constants");
    }
    return true;
  }

  /// Elements [first, first + H) of the last axis.
  ValueId part(const std::string& name, ValueId y, std::size_t first, std::size_t size) {
    const std::size_t axis = graph_.value(y).type.shape.rank() - 1;
    return graph_.add_node(name, ir::Slice{axis, first, 1, size}, {y});
  }

  /// A state for the numbers [first, first + H) of the last step.
  void tie(const ir::Node& node, const char* what, ValueId before, ValueId y, std::size_t first) {
    const auto& op = std::get<Recurrent>(node.op);
    const ir::Shape shape = graph_.value(y).type.shape;  // copies: nodes follow
    const std::size_t time = 1 - batch_axis(op);
    const std::string name = node.name + "/" + what;
    const ValueId last = graph_.add_node(
        name + "/last", ir::Slice{time, static_cast<std::size_t>(shape[time]) - 1, 1, 1}, {y});
    const ir::Shape state = graph_.value(before).type.shape;
    const ValueId after =
        graph_.add_node(name + "/after", ir::Reshape{state},
                        {part(name + "/part", last, first, static_cast<std::size_t>(state[1]))});
    graph_.tie(before, after);
    ++kept_;
  }

  ValueId add_state(const ir::Node& node, const char* what, std::size_t size) {
    const auto& op = std::get<Recurrent>(node.op);
    const Dim batch = graph_.value(node.inputs[ir::kGates]).type.shape[batch_axis(op)];
    return graph_.add_input(
        node.name + "/" + what,
        ir::dense_type(ir::ElementType::kFloat32, {batch, static_cast<Dim>(size)}));
  }

  void keep_node(ir::NodeId id) {
    const ir::Node node = graph_.node(id);
    auto op = std::get<Recurrent>(node.op);
    if (op.reverse) refuse(node, "it reads its sequence backwards");
    if (input(node, ir::kSequenceLengths) != ir::kAbsent) refuse(node, "sequences have lengths");
    const bool has_cell = op.kind == ir::RecurrentKind::kLstm;
    const bool hidden = starts_from_zeros(node, ir::kInitialHidden);
    const bool cell = has_cell && starts_from_zeros(node, ir::kInitialCell);
    if (!hidden && !cell) return;
    const ir::Shape gates = graph_.value(node.inputs[ir::kGates]).type.shape;
    const std::size_t size = static_cast<std::size_t>(gates[2]) / num_gates(op.kind);
    if (gates[1 - batch_axis(op)] < 1) refuse(node, "its sequence is empty");
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max<std::size_t>(inputs.size(), ir::kInitialCell + (has_cell ? 1U : 0U)),
                  ir::kAbsent);
    if (hidden) inputs[ir::kInitialHidden] = add_state(node, "hidden", size);
    if (cell) inputs[ir::kInitialCell] = add_state(node, "cell", size);
    const ValueId y = cell && !op.with_cell ? with_cell(id, inputs, size) : node.output;
    if (y == node.output) graph_.replace_node(id, std::get<Recurrent>(graph_.node(id).op), inputs);
    if (hidden) tie(node, "hidden", inputs[ir::kInitialHidden], y, 0);
    if (cell) tie(node, "cell", inputs[ir::kInitialCell], y, size);
  }

  /// A copy of a layer that also gives its cells; readers of the layer read the part that they had.
  ValueId with_cell(ir::NodeId id, const std::vector<ValueId>& inputs, std::size_t size) {
    const ir::Node node = graph_.node(id);
    auto op = std::get<Recurrent>(node.op);
    op.with_cell = true;
    const ValueId both = graph_.add_node(node.name, std::move(op), inputs, node.name + "/states");
    const ValueId h = part(node.name + "/output", both, 0, size);
    const std::string name = graph_.value(node.output).name;
    graph_.replace_uses(node.output, h);
    graph_.remove_node(id);
    graph_.rename(h, name);
    return both;
  }

  ir::Graph& graph_;
  std::size_t kept_ = 0;
};

}  // namespace

std::size_t keep_recurrent_states(ir::Graph& graph) { return StateKeeper(graph).keep(); }

}  // namespace halftone::passes

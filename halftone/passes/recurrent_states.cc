// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/rewrite.h"

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
    const Dim at = ir::dim_of(ir::extent_of(shape[time]) - 1);
    const ValueId last =
        graph_.add_node(name + "/last", ir::Slice{time, static_cast<std::size_t>(at), 1, 1}, {y});
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

class CellRemoval {
 public:
  CellRemoval(ir::Graph& graph, ir::NodeId id) : graph_(graph), node_(graph.node(id)) {}

  bool run() {
    auto op = std::get<Recurrent>(node_.op);
    const auto readers = readers_of(node_.output);
    if (!op.with_cell || readers.empty()) return false;
    hidden_ = static_cast<std::size_t>(graph_.value(node_.output).type.shape[2]) / 2;
    for (const ir::Node& reader : readers) {
      if (!reads_hidden(reader) && !moves_hidden(reader)) return false;
    }
    op.with_cell = false;
    const ValueId states = graph_.add_node(node_.name, std::move(op), node_.inputs);
    for (const ir::Node& reader : readers) replace(reader, states);
    return true;
  }

 private:
  /// Copies of the Slices that read a value; none if something else does.
  std::vector<ir::Node> readers_of(ValueId id) {
    std::vector<ir::Node> readers;
    if (std::ranges::count(graph_.outputs(), id) > 0) return readers;
    for (const ir::NodeId reader : graph_.consumers(id)) {
      readers.push_back(graph_.node(reader));
      if (!std::holds_alternative<ir::Slice>(readers.back().op)) return {};
    }
    return readers;
  }
  bool reads_hidden(const ir::Node& reader) {
    const auto& slice = std::get<ir::Slice>(reader.op);
    return slice.axis == 2 && slice.begin == 0 && slice.count == hidden_ && slice.step == 1;
  }
  /// Whether a Slice takes steps or samples of which only the hidden states are read.
  bool moves_hidden(const ir::Node& reader) {
    const auto readers = readers_of(reader.output);
    return std::get<ir::Slice>(reader.op).axis != 2 && !readers.empty() &&
           std::ranges::all_of(readers, [&](const ir::Node& next) { return reads_hidden(next); });
  }
  void replace(const ir::Node& reader, ValueId states) {
    if (reads_hidden(reader)) {
      replace_value(graph_, reader.output, states);
      return;
    }
    const auto readers = readers_of(reader.output);
    const ValueId part = graph_.add_node(reader.name, reader.op, {states});
    for (const ir::Node& next : readers) replace_value(graph_, next.output, part);
  }

  ir::Graph& graph_;
  const ir::Node node_;  // a copy, because added nodes invalidate references
  std::size_t hidden_ = 0;
};

}  // namespace

bool drop_unused_cells(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    const bool is_layer =
        graph.contains(id) && std::holds_alternative<Recurrent>(graph.node(id).op);
    changed = (is_layer && CellRemoval(graph, id).run()) || changed;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

std::size_t keep_recurrent_states(ir::Graph& graph) { return StateKeeper(graph).keep(); }

}  // namespace halftone::passes

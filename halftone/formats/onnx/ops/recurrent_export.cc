// SPDX-License-Identifier: Apache-2.0
// Writes a recurrent layer and the projection before it as an RNN, GRU or LSTM. A layer that ONNX
// cannot express becomes an operator of our own after its projection.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/onnx/activations.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/fields.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/recurrent_layer.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::Node;
using ir::ValueId;
using onnx_pb::NodeProto;

/// The operator that names a function in ONNX's lists; null if it is in none.
const ActivationEntry* listed(ir::ActivationKind kind) {
  const ActivationEntry* entry = find_activation(kind);
  return entry != nullptr && entry->is_listed ? entry : nullptr;
}

/// Whether an initial state has one row per sample, as ONNX requires.
bool is_whole(const ir::Graph& graph, const Node& node, std::size_t i, Dim batch) {
  return !node.has_input(i) || graph.value(node.inputs[i]).type.shape[0] == batch;
}

/// Whether an input is a float constant or absent.
bool is_stored(const ir::Graph& graph, const Node& node, std::size_t i) {
  return !node.has_input(i) || graph.constant(node.inputs[i]) != nullptr;
}

/// Whether the cells of a layer cannot reach the bound that it clips them to: each step adds at
/// most 1. ONNX has no such bound, while TFLite's converter always sets one.
bool is_within_clip(const ir::Recurrent& op, const Node& node, Dim steps) {
  if (op.cell_clip == 0) return true;
  const bool is_bounded = op.activations[0].kind == ir::ActivationKind::kSigmoid &&
                          op.activations[1].kind == ir::ActivationKind::kTanh &&
                          !node.has_input(ir::kInitialCell);
  return is_bounded && static_cast<float>(steps) <= op.cell_clip;
}

/// A part of the states that ONNX's operator returns: Y without its axis of directions, Y_h or Y_c.
enum class Part : std::uint8_t { kSteps, kLastHidden, kLastCell };

/// The Slices that take such parts from the output of a layer, by the value that they compute.
using Parts = std::vector<std::pair<ValueId, Part>>;

struct StateReaders {
  const ir::Graph& graph;
  const Node& node;
  const ir::Recurrent& op;
  std::size_t hidden;  ///< H

  [[nodiscard]] bool has_lengths() const { return node.has_input(ir::kSequenceLengths); }
  [[nodiscard]] std::size_t steps() const {
    return static_cast<std::size_t>(graph.value(node.output).type.shape[1 - ir::batch_axis(op)]);
  }
  [[nodiscard]] bool is_output(ValueId id) const {
    return std::ranges::count(graph.outputs(), id) > 0;
  }
  /// Half `half` of the last axis: the hidden states, or the cells.
  [[nodiscard]] bool takes_half(const ir::Slice& slice, std::size_t half) const {
    return op.with_cell && slice.axis == 2 && slice.begin == half * hidden && slice.step == 1 &&
           slice.count == hidden;
  }
  /// The step whose states ONNX calls the last ones.
  [[nodiscard]] bool takes_last(const ir::Slice& slice) const {
    const bool is_end = op.reverse || op.carry || !has_lengths();
    return is_end && slice.axis == 1 - ir::batch_axis(op) && slice.count == 1 &&
           slice.begin == (op.reverse ? 0 : steps() - 1);
  }
};

/// Adds the halves of the states of the last step.
bool add_last(const StateReaders& states, ValueId last, Parts& parts) {
  if (!states.op.with_cell) {
    parts.emplace_back(last, Part::kLastHidden);
    return true;
  }
  if (states.is_output(last)) return false;
  for (const ir::NodeId reader : states.graph.consumers(last)) {
    const Node& node = states.graph.node(reader);
    const auto* slice = std::get_if<ir::Slice>(&node.op);
    const bool is_cell = slice != nullptr && states.takes_half(*slice, 1);
    if (!is_cell && (slice == nullptr || !states.takes_half(*slice, 0))) return false;
    parts.emplace_back(node.output, is_cell ? Part::kLastCell : Part::kLastHidden);
  }
  return true;
}

/// The parts that all readers of the states take; nothing if one reads something else.
std::optional<Parts> parts_of(const StateReaders& states) {
  // Of a single step, all states are the last ones.
  const bool is_single =
      states.steps() == 1 && (states.op.carry || states.op.reverse || !states.has_lengths());
  if (is_single && states.op.carry && !states.op.with_cell) {
    return Parts{{states.node.output, Part::kLastHidden}};
  }
  if (states.is_output(states.node.output)) return std::nullopt;
  Parts parts;
  for (const ir::NodeId reader : states.graph.consumers(states.node.output)) {
    const Node& node = states.graph.node(reader);
    const auto* slice = std::get_if<ir::Slice>(&node.op);
    if (slice == nullptr) return std::nullopt;
    if (states.takes_half(*slice, 0) && (is_single || !states.op.carry)) {
      parts.emplace_back(node.output, states.op.carry ? Part::kLastHidden : Part::kSteps);
    } else if (states.takes_half(*slice, 1) && is_single) {
      parts.emplace_back(node.output, Part::kLastCell);
    } else if (!states.takes_last(*slice) || !add_last(states, node.output, parts)) {
      return std::nullopt;
    }
  }
  return parts;
}

/// The same for the output of a Recurrent.
std::optional<Parts> parts_of(const ir::Graph& graph, const Node& node) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  const Dim hidden = graph.value(node.inputs[ir::kRecurrenceWeights]).type.shape[1];
  return parts_of(StateReaders{graph, node, op, static_cast<std::size_t>(hidden)});
}

/// Whether ONNX has an operator for the layer with its projection.
bool is_standard(const ir::Graph& graph, const Node& node) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  const ir::Shape& gates = graph.value(node.inputs[ir::kGates]).type.shape;
  const Dim batch = gates[ir::batch_axis(op)];
  const Dim steps = gates[1 - ir::batch_axis(op)];
  for (std::size_t i = 0; i < num_functions(op.kind); ++i) {
    if (listed(op.activations[i].kind) == nullptr) return false;
  }
  // Of the cells, and of states that are carried past the end, there are only the last.
  const bool is_step = op.with_cell && steps == 1 && !node.has_input(ir::kSequenceLengths);
  const bool is_plain = !op.carry && (!op.with_cell || is_step);
  return projection_of(graph, node) && dense_recurrence(graph, node) != nullptr &&
         op.state_encoding == nullptr && is_within_clip(op, node, steps) &&
         (is_plain || parts_of(graph, node)) && is_whole(graph, node, ir::kInitialHidden, batch) &&
         is_whole(graph, node, ir::kInitialCell, batch) &&
         is_stored(graph, node, ir::kRecurrenceBias) && is_stored(graph, node, ir::kPeepholes);
}

/// The tensor with a leading axis of extent 1.
onnx_pb::TensorProto of_one_direction(const ir::Tensor& tensor) {
  std::vector<Dim> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
  dims.insert(dims.begin(), 1);
  return encode_tensor(tensor.reshaped(ir::Shape(std::move(dims))));
}

/// [1, 2 G H]: the biases added outside the recurrence, then those inside.
onnx_pb::TensorProto biases_of(const Exporter& exporter, const Node& node,
                               const Projection& projection) {
  const Dim gates = projection.weights->shape()[0];
  ir::Tensor both(ir::ElementType::kFloat32, {1, 2 * gates});
  const auto numbers = both.as<float>();
  if (projection.bias != nullptr) {
    std::ranges::copy(projection.bias->as<float>(), numbers.begin());
  }
  if (node.has_input(ir::kRecurrenceBias)) {
    const auto& inner =
        std::get<ir::Tensor>(*exporter.graph().constant(node.inputs[ir::kRecurrenceBias]));
    std::ranges::copy(inner.as<float>(), numbers.end() - static_cast<std::ptrdiff_t>(inner.size()));
  }
  return encode_tensor(both);
}

/// Adds a node with constant axes that reshapes a value.
std::string reshaped(Exporter& exporter, std::string_view op_type, const std::string& input,
                     std::int64_t axis, const std::string& wanted) {
  std::string result = exporter.fresh(wanted);
  exporter.add_node(op_type, {input, exporter.add_integers("axes", {axis})}, result);
  return result;
}

std::string transposed(Exporter& exporter, const std::string& input, const std::string& output) {
  set_attribute(exporter.add_node("Transpose", {input}, output), "perm",
                std::vector<std::int64_t>{1, 0, 2});
  return output;
}

/// The initial state [B, H] as [1, B, H]; empty if there is none.
std::string first_state(Exporter& exporter, const Node& node, std::size_t i,
                        const std::string& wanted) {
  if (!node.has_input(i)) return "";
  return reshaped(exporter, "Unsqueeze", exporter.read(node.inputs[i]), 0, wanted);
}

void set_functions(NodeProto& proto, const ir::Recurrent& op) {
  std::vector<std::string> names;
  std::vector<float> alphas;
  std::vector<float> betas;
  for (std::size_t i = 0; i < num_functions(op.kind); ++i) {
    const ir::Activation& function = op.activations[i];
    const ActivationEntry& entry = *listed(function.kind);
    names.emplace_back(entry.op_type);
    if (entry.alpha != nullptr) alphas.push_back(function.alpha);
    if (entry.beta != nullptr) betas.push_back(function.beta);
  }
  set_attribute(proto, "activations", names);
  if (!alphas.empty()) set_attribute(proto, "activation_alpha", alphas);
  if (!betas.empty()) set_attribute(proto, "activation_beta", betas);
}

/// The inputs of ONNX's operator, with X as [T, B, n].
std::vector<std::string> standard_inputs(Exporter& exporter, const Node& node,
                                         const std::string& output) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  const Projection projection = *projection_of(exporter.graph(), node);
  std::string x = exporter.read(projection.x);
  if (op.batch_major) x = transposed(exporter, x, exporter.fresh(output + "/steps"));
  std::vector<std::string> inputs = {
      x,
      exporter.add_initializer(output + "/W", of_one_direction(*projection.weights)),
      exporter.add_initializer(output + "/R",
                               of_one_direction(*dense_recurrence(exporter.graph(), node))),
      exporter.add_initializer(output + "/B", biases_of(exporter, node, projection)),
      node.has_input(ir::kSequenceLengths) ? exporter.read(node.inputs[ir::kSequenceLengths]) : "",
      first_state(exporter, node, ir::kInitialHidden, output + "/h")};
  if (op.kind == ir::RecurrentKind::kLstm) {
    inputs.push_back(first_state(exporter, node, ir::kInitialCell, output + "/c"));
    if (node.has_input(ir::kPeepholes)) {
      const auto& weights =
          std::get<ir::Tensor>(*exporter.graph().constant(node.inputs[ir::kPeepholes]));
      inputs.push_back(exporter.add_initializer(output + "/P", of_one_direction(weights)));
    }
  }
  while (inputs.back().empty()) inputs.pop_back();
  return inputs;
}

void set_attributes(Exporter& exporter, NodeProto& proto, const Node& node) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  const Dim hidden = exporter.type(node.inputs[ir::kRecurrenceWeights]).shape[1];
  set_attribute(proto, "hidden_size", std::int64_t{hidden});
  set_attribute(proto, "direction", std::string_view(op.reverse ? "reverse" : "forward"));
  set_functions(proto, op);
  if (op.clip != 0) set_attribute(proto, "clip", op.clip);
  if (op.linear_before_reset) set_attribute(proto, "linear_before_reset", std::int64_t{1});
  if (op.input_forget) set_attribute(proto, "input_forget", std::int64_t{1});
}

/// Adds what computes a value from the outputs Y, Y_h and Y_c of a node.
void add_part(Exporter& exporter, const ir::Recurrent& op, ValueId id, const std::string& from,
              bool is_steps) {
  const std::string& output = exporter.name(id);
  const std::string states =
      is_steps ? reshaped(exporter, "Squeeze", from, 1, output + "/states") : from;
  if (op.batch_major) {
    transposed(exporter, states, output);
  } else {
    exporter.add_node("Identity", {states}, output);
  }
  exporter.set_written(id);  // behind the last step
}

/// Adds a node with those outputs that the parts need.
void export_parts(Exporter& exporter, const Node& node, const Parts& parts) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  const std::string& output = exporter.name(node.output);
  std::vector<std::string> names = {"/Y", "/Y_h", "/Y_c"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_used = std::ranges::count(parts, Part{static_cast<std::uint8_t>(i)},
                                            &Parts::value_type::second) > 0;
    names[i] = is_used ? exporter.fresh(output + names[i]) : "";
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  const auto inputs = standard_inputs(exporter, node, output);
  NodeProto& proto = exporter.add_node(to_string(op.kind), inputs, names.at(0));
  for (std::size_t i = 1; i < names.size(); ++i) proto.add_output(names[i]);
  set_attributes(exporter, proto, node);
  for (const auto& [id, part] : parts) {
    add_part(exporter, op, id, names[static_cast<std::size_t>(part)], part == Part::kSteps);
  }
  if (parts.front().first == node.output) return;
  for (const ir::NodeId reader : exporter.graph().consumers(node.output)) {
    exporter.set_written(exporter.graph().node(reader).output);
  }
}

void export_standard(Exporter& exporter, const Node& node) {
  const auto& whole = std::get<ir::Recurrent>(node.op);
  const auto parts =
      whole.carry || whole.with_cell ? parts_of(exporter.graph(), node) : std::nullopt;
  if (parts && !parts->empty()) return export_parts(exporter, node, *parts);
  const ir::Recurrent& op = whole;
  const std::string& output = exporter.name(node.output);
  const auto inputs = standard_inputs(exporter, node, output);
  const std::string steps = exporter.fresh(output + "/Y");
  NodeProto& proto = exporter.add_node(to_string(op.kind), inputs, steps);
  set_attributes(exporter, proto, node);
  std::string cell;
  if (op.with_cell) {
    proto.add_output("");
    cell = exporter.fresh(output + "/Y_c");
    proto.add_output(cell);
  }
  std::string states = reshaped(exporter, "Squeeze", steps, 1, output + "/states");
  if (op.with_cell) {
    const std::string both = exporter.fresh(output + "/both");
    set_attribute(exporter.add_node("Concat", {states, cell}, both), "axis", std::int64_t{2});
    states = both;
  }
  if (op.batch_major) {
    transposed(exporter, states, output);
  } else {
    exporter.add_node("Identity", {states}, output);
  }
}

void export_own(Exporter& exporter, const Node& node) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  const std::string& output = exporter.name(node.output);
  const ValueId weights = node.inputs[ir::kRecurrenceWeights];
  std::vector<std::string> inputs(4);
  inputs[0] = exporter.read(node.inputs[ir::kGates]);
  if (op.state_encoding != nullptr) {
    inputs[1] = exporter.add_initializer(output + "/states",
                                         encode_compact(activation_scales(*op.state_encoding)));
  }
  const ir::Constant* constant = exporter.graph().constant(weights);
  const auto* codes = constant == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(constant);
  if (codes != nullptr) {
    inputs[2] = exporter.add_initializer(exporter.name(weights) + "/scales",
                                         encode_compact(weight_scales(*codes->encoding)));
    inputs[3] = exporter.read_as(weights, [&] { return encode_tensor(weight_codes(*codes)); });
  } else {
    inputs[3] = exporter.read(weights);
  }
  for (std::size_t i = ir::kRecurrenceBias; i < node.inputs.size(); ++i) {
    inputs.push_back(node.has_input(i) ? exporter.read(node.inputs[i]) : "");
  }
  while (inputs.back().empty()) inputs.pop_back();
  NodeProto& proto = exporter.add_node("Recurrent", inputs, output);
  proto.set_domain(std::string(kHalftoneDomain));
  exporter.require_halftone_domain();
  set_attribute(proto, "version", kLowBitVersion);
  const RecurrentFields fields = recurrent_fields_of(exporter.graph(), node);
  for_each_recurrent_field(fields, FieldWriter(proto));
}

}  // namespace

bool belongs_to_recurrent(const ir::Graph& graph, const Node& node) {
  return is_merged_projection(graph, node, is_standard);
}

bool is_own_float_recurrent(const ir::Graph& graph, const Node& node) {
  const auto* op = std::get_if<ir::Recurrent>(&node.op);
  return op != nullptr && op->state_encoding == nullptr &&
         dense_recurrence(graph, node) != nullptr && !is_standard(graph, node);
}

namespace {

void export_operator(Exporter& exporter, const Node& node, const ir::Recurrent& /*op*/) {
  if (is_standard(exporter.graph(), node)) {
    export_standard(exporter, node);
  } else {
    export_own(exporter, node);
  }
}

constexpr WriterEntry kRecurrentWriters[] = {
    node_writer_entry<Exporter, ir::Recurrent, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> recurrent_writers() { return kRecurrentWriters; }

}  // namespace halftone::formats::onnx

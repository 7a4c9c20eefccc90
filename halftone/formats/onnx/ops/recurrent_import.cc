// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: a projection of the whole sequence and a recurrence for each direction.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/activations.h"
#include "halftone/formats/onnx/fields.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/recurrent_layer.h"

namespace halftone::formats::onnx {
namespace {

using ir::ActivationKind;
using ir::Dim;
using ir::RecurrentKind;
using ir::ValueId;

enum Input : std::size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

/// The properties of a node that all directions share.
struct Request {
  RecurrentKind kind;
  std::size_t directions = 1;
  bool reverse = false;  ///< whether the first direction runs in reverse
  bool batch_major = false;
  Dim gates = 0;   ///< G H
  Dim hidden = 0;  ///< H
};

void check(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kShape, message);
}

RecurrentKind kind_of(const std::string& op_type) {
  if (op_type == "LSTM") return RecurrentKind::kLstm;
  return op_type == "GRU" ? RecurrentKind::kGru : RecurrentKind::kRnn;
}

void check_shape(NodeBuilder& node, std::size_t i, const ir::Shape& expected) {
  const ir::Shape& found = node.input_type(i).shape;
  check(found == expected, "input " + std::to_string(i) + ": expected " + expected.to_string() +
                               ", found " + found.to_string());
}

Request read_request(NodeBuilder& node) {
  Request request{kind_of(node.op_type())};
  const std::string direction =
      node.choice_attribute("direction", "forward", {"forward", "reverse", "bidirectional"});
  request.directions = direction == "bidirectional" ? 2 : 1;
  request.reverse = direction == "reverse";
  request.batch_major = node.int_attribute("layout", 0) != 0;
  const ir::Shape& r = node.input_type(kR).shape;
  const auto directions = static_cast<Dim>(request.directions);
  check(node.input_type(kX).shape.rank() == 3,
        "input 0: expected three axes, found " + node.input_type(kX).shape.to_string());
  check(r.rank() == 3 && r[0] == directions && r[2] > 0,
        "input 2: expected three axes, found " + r.to_string());
  request.hidden = r[2];
  request.gates = request.hidden * static_cast<Dim>(ir::num_gates(request.kind));
  check(node.int_attribute("hidden_size", r[2]) == r[2],
        "hidden_size: expected " + std::to_string(r[2]) + ", as the weights have");
  check_shape(node, kR, {directions, request.gates, request.hidden});
  check_shape(node, kW, {directions, request.gates, node.input_type(kX).shape[2]});
  if (node.has_input(kBias)) check_shape(node, kBias, {directions, 2 * request.gates});
  if (node.has_input(kPeepholes)) check_shape(node, kPeepholes, {directions, 3 * request.hidden});
  return request;
}

/// Slices `count` elements along an axis.
ValueId slice(NodeBuilder& node, ValueId x, std::size_t axis, Dim begin, Dim count) {
  if (node.type(x).shape[axis] == count) return x;
  return node.emit(
      ir::Slice{axis, static_cast<std::size_t>(begin), 1, static_cast<std::size_t>(count)}, {x});
}

/// The part of an input for one direction, without the direction axis.
ValueId of_direction(NodeBuilder& node, std::size_t input, std::size_t axis,
                     std::size_t direction) {
  const ValueId part = slice(node, node.input(input), axis, static_cast<Dim>(direction), 1);
  std::vector<Dim> dims(node.type(part).shape.dims().begin(), node.type(part).shape.dims().end());
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return node.reshape(part, ir::Shape(std::move(dims)));
}

/// Reads activations from the file's lists of names and parameters. Each activation consumes as
/// many parameters as it has.
class ActivationReader {
 public:
  explicit ActivationReader(const NodeBuilder& node)
      : alphas_(node.floats_attribute("activation_alpha").value_or(std::vector<float>())),
        betas_(node.floats_attribute("activation_beta").value_or(std::vector<float>())) {}

  ir::Activation operator()(std::string name) {
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    const ActivationEntry* entry = find_listed_activation(name);
    if (entry == nullptr) NodeBuilder::unsupported("activation '" + name + "'");
    ir::Activation result{entry->kind, 0, 0};
    if (entry->alpha != nullptr) result.alpha = next(alphas_, num_alphas_, entry->alpha_default);
    if (entry->beta != nullptr) result.beta = next(betas_, num_betas_, entry->beta_default);
    return result;
  }

 private:
  static float next(const std::vector<float>& list, std::size_t& taken, float otherwise) {
    return taken < list.size() ? list[taken++] : otherwise;
  }

  std::vector<float> alphas_;
  std::vector<float> betas_;
  std::size_t num_alphas_ = 0;
  std::size_t num_betas_ = 0;
};

/// The activations of every direction.
std::vector<std::array<ir::Activation, 3>> read_activations(NodeBuilder& node,
                                                            const Request& request) {
  std::array<ir::Activation, 3> plain = ir::Recurrent{}.activations;
  if (request.kind == RecurrentKind::kRnn) plain[0] = {ActivationKind::kTanh, 0, 0};
  std::vector<std::array<ir::Activation, 3>> result(request.directions, plain);
  const auto names = node.strings_attribute("activations");
  if (!names) return result;
  const std::size_t count = num_functions(request.kind);
  check(names->size() == count * request.directions,
        "activations: expected " + std::to_string(count * request.directions) + ", found " +
            std::to_string(names->size()));
  ActivationReader read(node);
  for (std::size_t i = 0; i < names->size(); ++i) result[i / count][i % count] = read((*names)[i]);
  return result;
}

/// Biases added to the gates outside the recurrence, and those that must stay inside.
struct Biases {
  ValueId projection = ir::kAbsent;
  ValueId recurrence = ir::kAbsent;
};

Biases read_biases(NodeBuilder& node, const Request& request, std::size_t direction, bool linear) {
  if (!node.has_input(kBias)) return {};
  const ValueId both = of_direction(node, kBias, 0, direction);
  const ValueId outer = slice(node, both, 0, 0, request.gates);
  ValueId inner = slice(node, both, 0, request.gates, request.gates);
  Biases biases;
  if (linear) {
    const Dim early = request.gates - request.hidden;
    biases.recurrence = slice(node, inner, 0, early, request.hidden);
    const ValueId zeros =
        node.add_constant(node.allocate(ir::ElementType::kFloat32, {request.hidden}));
    inner = node.emit(ir::Concat{0}, {slice(node, inner, 0, 0, early), zeros});
  }
  biases.projection = node.emit(ir::Binary{ir::BinaryKind::kAdd, {}}, {outer, inner}, "bias");
  return biases;
}

/// Whether a value is zero everywhere: a constant, or elements of one in another shape.
bool is_zero(const ir::Graph& graph, ValueId id) {
  while (const auto producer = graph.producer(id)) {
    const ir::Node& node = graph.node(*producer);
    const bool keeps_elements = std::holds_alternative<ir::BroadcastTo>(node.op) ||
                                std::holds_alternative<ir::Reshape>(node.op) ||
                                std::holds_alternative<ir::Slice>(node.op) ||
                                std::holds_alternative<ir::Cast>(node.op) ||
                                std::holds_alternative<ir::Transpose>(node.op);
    if (!keeps_elements) return false;
    id = node.inputs[0];
  }
  const ir::Constant* constant = graph.constant(id);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  if (tensor == nullptr || tensor->element() == ir::ElementType::kBool) return false;
  const ir::Tensor wide = tensor->cast(ir::ElementType::kFloat32);
  return std::ranges::all_of(wide.as<float>(), [](float x) { return x == 0; });
}

/// Emits the layer of one direction: hidden states, and cell states if `op` has them.
ValueId emit_direction(NodeBuilder& node, const Request& request, std::size_t direction,
                       const ir::Recurrent& op) {
  const auto optional = [&](std::size_t input, std::size_t axis) {
    return node.has_input(input) ? of_direction(node, input, axis, direction) : ir::kAbsent;
  };
  // PyTorch writes initial states of zero as a constant that is repeated for every sample.
  const auto state = [&](std::size_t input) {
    const bool is_given = node.has_input(input) && !is_zero(node.state().graph, node.input(input));
    return is_given ? of_direction(node, input, request.batch_major ? 1 : 0, direction)
                    : ir::kAbsent;
  };
  const Biases biases = read_biases(node, request, direction, op.linear_before_reset);
  std::vector<ValueId> projection = {node.input(kX), of_direction(node, kW, 0, direction)};
  if (biases.projection != ir::kAbsent) projection.push_back(biases.projection);
  const std::string role = direction == 0 ? "gates" : "reverse/gates";
  const ValueId gates = node.emit(ir::FullyConnected{}, std::move(projection), role);
  std::vector<ValueId> inputs = {
      gates,
      of_direction(node, kR, 0, direction),
      biases.recurrence,
      state(kInitialH),
      op.kind == RecurrentKind::kLstm ? state(kInitialC) : ir::kAbsent,
      node.has_input(kLengths) ? node.input(kLengths) : ir::kAbsent,
      op.kind == RecurrentKind::kLstm ? optional(kPeepholes, 0) : ir::kAbsent};
  return node.emit(op, std::move(inputs), direction == 0 ? "" : "reverse");
}

/// The states of one direction, in the form of the outputs.
struct States {
  ValueId all = ir::kAbsent;     ///< hidden states of all steps [T, B, H] or [B, T, H]
  ValueId hidden = ir::kAbsent;  ///< the last state [1, B, H] or [B, 1, H]
  ValueId cell = ir::kAbsent;
};

States build_direction(NodeBuilder& node, const Request& request, std::size_t direction,
                       ir::Recurrent op) {
  op.reverse = request.reverse || direction == 1;
  op.with_cell = node.has_output(2);
  const std::size_t time = request.batch_major ? 1 : 0;
  const Dim steps = node.input_type(kX).shape[time];
  check(steps > 0 || ir::is_expression(steps),
        "input 0: expected at least one step, found " + node.input_type(kX).shape.to_string());
  const bool wants_last = node.has_output(1) || node.has_output(2);
  const bool carries = node.has_input(kLengths) && !op.reverse;
  States states;
  ValueId found = ir::kAbsent;
  if (node.has_output(0) || (wants_last && !carries)) {
    found = emit_direction(node, request, direction, op);
    states.all = slice(node, found, 2, 0, request.hidden);
  }
  if (!wants_last) return states;
  if (carries) {
    // Outputs past the end are zero; only a layer with `carry` returns the last state there.
    op.carry = true;
    found = emit_direction(node, request, direction, op);
  }
  const ValueId last =
      slice(node, found, time, op.reverse ? 0 : checked_dim(ir::extent_of(steps) - 1), 1);
  states.hidden = slice(node, last, 2, 0, request.hidden);
  if (op.with_cell) states.cell = slice(node, last, 2, request.hidden, request.hidden);
  return states;
}

/// [T, B, H] of every direction as [T, D, B, H]; with batch_major [B, T, H] as [B, T, D, H].
ValueId join_steps(NodeBuilder& node, const Request& request, const std::vector<States>& states) {
  const std::size_t axis = request.batch_major ? 2 : 1;
  std::vector<ValueId> parts;
  for (const States& direction : states) {
    const ir::Shape& shape = node.type(direction.all).shape;
    std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    parts.push_back(node.emit(ir::Reshape{ir::Shape(std::move(dims))}, {direction.all}));
  }
  return parts.size() == 1 ? parts[0] : node.emit(ir::Concat{axis}, std::move(parts));
}

/// [1, B, H] of every direction as [D, B, H]; with batch_major [B, 1, H] as [B, D, H].
ValueId join_last(NodeBuilder& node, const Request& request, const std::vector<States>& states,
                  ValueId States::*which) {
  std::vector<ValueId> parts;
  for (const States& direction : states) parts.push_back(direction.*which);
  const std::size_t axis = request.batch_major ? 1 : 0;
  return parts.size() == 1 ? parts[0] : node.emit(ir::Concat{axis}, std::move(parts));
}

void build_recurrent(NodeBuilder& node) {
  const Request request = read_request(node);
  ir::Recurrent op;
  op.kind = request.kind;
  op.batch_major = request.batch_major;
  op.linear_before_reset =
      request.kind == RecurrentKind::kGru && node.int_attribute("linear_before_reset", 0) != 0;
  op.input_forget =
      request.kind == RecurrentKind::kLstm && node.int_attribute("input_forget", 0) != 0;
  op.clip = node.float_attribute("clip", 0);
  const auto activations = read_activations(node, request);
  std::vector<States> states;
  for (std::size_t d = 0; d < request.directions; ++d) {
    op.activations = activations[d];
    states.push_back(build_direction(node, request, d, op));
  }
  if (node.has_output(0)) node.set_output(0, join_steps(node, request, states));
  if (node.has_output(1)) node.set_output(1, join_last(node, request, states, &States::hidden));
  if (node.has_output(2)) node.set_output(2, join_last(node, request, states, &States::cell));
}

/// The weights of inputs 2 and 3, which are codes.
ValueId encoded_weights(NodeBuilder& node, const LowBitFields& codes) {
  constexpr std::size_t kScales = 2;
  constexpr std::size_t kPlanes = 3;
  const ir::Tensor& planes = node.constant_input(kPlanes);
  check_planes(codes, planes.type());
  auto encoding = read_weight_scales(codes, node.constant_input(kScales));
  const std::string name = node.state().graph.value(node.input(kPlanes)).name;
  return node.state().graph.add_constant(name, read_planes(codes, std::move(encoding), planes));
}

void build_own_recurrent(NodeBuilder& node) {
  constexpr std::size_t kStates = 1;
  constexpr std::size_t kWeights = 3;
  check_low_bit_version(node.int_attribute("version", kLowBitVersion));
  RecurrentFields fields;
  for_each_recurrent_field(fields, FieldReader(node));
  ir::Recurrent op = recurrent_of(fields);
  if (fields.codes.activation_bits != 0) {
    const ir::Tensor basis = node.constant_input(kStates).cast(ir::ElementType::kFloat32);
    op.state_encoding = read_activation_scales(fields.codes, basis);
  }
  std::vector<ValueId> inputs = {node.input(0), fields.codes.weight_bits == 0
                                                    ? node.input(kWeights)
                                                    : encoded_weights(node, fields.codes)};
  for (std::size_t i = kWeights + 1; i < node.num_inputs(); ++i) {
    inputs.push_back(node.has_input(i) ? node.input(i) : ir::kAbsent);
  }
  node.set_output(0, node.emit(std::move(op), std::move(inputs)));
}

constexpr ReaderEntry kRecurrentReaders[] = {
    {"", "GRU", build_recurrent},
    {"", "LSTM", build_recurrent},
    {"", "RNN", build_recurrent},
    {kHalftoneDomain, "Recurrent", build_own_recurrent},
};

}  // namespace

std::span<const ReaderEntry> recurrent_readers() { return kRecurrentReaders; }

}  // namespace halftone::formats::onnx

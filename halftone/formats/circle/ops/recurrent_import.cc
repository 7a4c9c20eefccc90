// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: a projection of the whole sequence, then the recurrence. Their states are
// variables of the file, which are zero at the start of every inference.
#include <array>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

/// Input indices of the tensors of one direction of an LSTM.
struct LstmInputs {
  std::size_t input_weights;      ///< four: input gate, forget gate, cell, output gate
  std::size_t recurrent_weights;  ///< likewise
  std::size_t peepholes;          ///< three: input gate, forget gate, output gate
  std::size_t biases;             ///< four
  std::size_t projection;         ///< two: weights, bias
  std::size_t hidden;
  std::size_t cell;
};
constexpr LstmInputs kUnidirectional = {1, 5, 9, 12, 16, 18, 19};
constexpr LstmInputs kForward = {1, 5, 9, 12, 16, 35, 36};
constexpr LstmInputs kBackward = {18, 22, 26, 29, 33, 37, 38};

/// Properties shared by all directions of a layer.
struct Style {
  ir::Activation activation;
  float cell_clip = 0;
  bool time_major = false;
};

void refuse_inputs(const OperatorImport& op, std::size_t first, std::size_t count,
                   const char* what) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (op.has_input(i)) fail(ErrorKind::kUnsupported, std::string(what) + " is not supported");
  }
}

/// The initial states; kAbsent if they are a variable.
ValueId stated_state(OperatorImport& op, std::size_t i) {
  if (!op.has_input(i)) return ir::kAbsent;
  if (op.importer().file().tensor(op.input_tensor(i)).is_variable()) return ir::kAbsent;
  return op.number(i);
}

/// Concatenates tensors along their first axis. Constants become one constant.
ValueId joined(OperatorImport& op, const std::vector<ValueId>& parts, const std::string& suffix) {
  std::vector<const ir::Tensor*> tensors;
  for (const ValueId part : parts) {
    const ir::Constant* constant = op.graph().constant(part);
    if (constant == nullptr) return op.step(ir::Concat{0}, parts, suffix);
    tensors.push_back(&std::get<ir::Tensor>(*constant));
    op.importer().charge(tensors.back()->bytes().size());
  }
  const std::string name = op.graph().value(parts[0]).name + "/" + suffix;
  return op.graph().add_constant(name, ir::evaluate_operator(ir::Concat{0}, tensors));
}

ValueId negated(OperatorImport& op, ValueId x, const std::string& suffix) {
  const ir::Unary negate{{ir::ActivationKind::kNeg, 0, 0}};
  const ir::Constant* constant = op.graph().constant(x);
  if (constant == nullptr) return op.step(negate, {x}, suffix);
  const ir::Tensor* tensor = &std::get<ir::Tensor>(*constant);
  op.importer().charge(tensor->bytes().size());
  return op.graph().add_constant(op.graph().value(x).name + "/" + suffix,
                                 ir::evaluate_operator(negate, {&tensor, 1}));
}

/// The four gate tensors in our order: input, output, forget, cell. A missing input gate is 1 -
/// f(x), where f(x) is the forget gate; for the sigmoid this is f(-x).
/// @param gates  input indices of the tensors: input, forget, cell, output
ValueId gates_of(OperatorImport& op, const std::array<std::size_t, 4>& gates,
                 const std::string& suffix) {
  const ValueId forget = op.number(gates[1]);
  const ValueId input =
      op.has_input(gates[0]) ? op.number(gates[0]) : negated(op, forget, suffix + "/input");
  return joined(op, {input, op.number(gates[3]), forget, op.number(gates[2])}, suffix);
}

ValueId gates_from(OperatorImport& op, std::size_t first, const std::string& suffix) {
  return gates_of(op, {first, first + 1, first + 2, first + 3}, suffix);
}

/// The peepholes in our order: input, output, forget.
ValueId peepholes_of(OperatorImport& op, std::size_t first) {
  if (!op.has_input(first + 1) || !op.has_input(first + 2)) return ir::kAbsent;
  const ValueId forget = op.number(first + 1);
  const ValueId input =
      op.has_input(first) ? op.number(first) : negated(op, forget, "peepholes/input");
  return joined(op, {input, op.number(first + 2), forget}, "peepholes");
}

/// One direction of an LSTM, not yet bound to an output.
ValueId lstm(OperatorImport& op, const LstmInputs& at, const Style& style, bool reverse) {
  refuse_inputs(op, at.projection, 2, "a projection of the hidden state");
  const std::string role = reverse ? "reverse" : "forward";
  const ValueId weights = gates_from(op, at.input_weights, role + "/weights");
  const ValueId biases = gates_from(op, at.biases, role + "/biases");
  const ValueId gates =
      op.step(ir::FullyConnected{}, {op.number(0), weights, biases}, role + "/gates");
  ir::Recurrent layer;
  layer.reverse = reverse;
  layer.batch_major = !style.time_major;
  layer.cell_clip = style.cell_clip;
  layer.activations[1] = layer.activations[2] = style.activation;
  const ValueId recurrent = gates_from(op, at.recurrent_weights, role + "/recurrent");
  return op.step(layer,
                 {gates, recurrent, ir::kAbsent, stated_state(op, at.hidden),
                  stated_state(op, at.cell), ir::kAbsent, peepholes_of(op, at.peepholes)},
                 role);
}

float checked_clip(float clip) {
  check(clip >= 0, "cell clip: expected a number of at least 0");
  return OperatorImport::finite(clip, "cell clip");
}

void import_lstm(OperatorImport& op) {
  const auto* options = op.options<schema::UnidirectionalSequenceLSTMOptions>();
  check(options != nullptr, "has no options");
  if (options->diagonal_recurrent_tensors()) {
    fail(ErrorKind::kUnsupported, "diagonal recurrent weights are not supported");
  }
  refuse_inputs(op, 20, 4, "normalization of the gates");
  const Style style{fused_activation(options->fused_activation_function()),
                    checked_clip(options->cell_clip()), options->time_major()};
  op.alias(lstm(op, kUnidirectional, style, false));
}

/// Emits both directions as two outputs, or as one with concatenated features.
void emit_both(OperatorImport& op, ValueId forward, ValueId backward, bool merges) {
  if (merges) return op.emit(ir::Concat{2}, {forward, backward});
  op.alias(forward, 0);
  op.alias(backward, 1);
}

void import_bidirectional_lstm(OperatorImport& op) {
  const auto* options = op.options<schema::BidirectionalSequenceLSTMOptions>();
  check(options != nullptr, "has no options");
  refuse_inputs(op, 39, 9, "an auxiliary input");
  const Style style{fused_activation(options->fused_activation_function()),
                    checked_clip(options->cell_clip()), options->time_major()};
  const ValueId forward = lstm(op, kForward, style, false);
  const ValueId backward = lstm(op, kBackward, style, true);
  emit_both(op, forward, backward, options->merge_outputs());
}

/// One direction of an RNN. Its weights, recurrent weights, bias and state start at input `first`.
ValueId rnn(OperatorImport& op, ValueId x, std::size_t first, const Style& style, bool reverse) {
  const std::string role = reverse ? "reverse" : "forward";
  std::vector<ValueId> projection = {x, op.number(first)};
  if (op.has_input(first + 2)) projection.push_back(op.number(first + 2));
  const ValueId gates = op.step(ir::FullyConnected{}, std::move(projection), role + "/gates");
  ir::Recurrent layer;
  layer.kind = ir::RecurrentKind::kRnn;
  layer.reverse = reverse;
  layer.batch_major = !style.time_major;
  layer.activations[0] = style.activation;
  return op.step(layer, {gates, op.number(first + 1), ir::kAbsent, stated_state(op, first + 3)},
                 role);
}

void import_sequence_rnn(OperatorImport& op) {
  const auto* options = op.options<schema::SequenceRNNOptions>();
  check(options != nullptr, "has no options");
  const Style style{fused_activation(options->fused_activation_function()), 0,
                    options->time_major()};
  op.alias(rnn(op, op.number(0), 1, style, false));
}

void import_bidirectional_rnn(OperatorImport& op) {
  const auto* options = op.options<schema::BidirectionalSequenceRNNOptions>();
  check(options != nullptr, "has no options");
  refuse_inputs(op, 9, 3, "an auxiliary input");
  const Style style{fused_activation(options->fused_activation_function()), 0,
                    options->time_major()};
  const ValueId forward = rnn(op, op.number(0), 1, style, false);
  const ValueId backward = rnn(op, op.number(0), 5, style, true);
  emit_both(op, forward, backward, options->merge_outputs());
}

/// Imports a single step: [B, n] is a sequence of length one.
void import_rnn_step(OperatorImport& op) {
  const auto* options = op.options<schema::RNNOptions>();
  check(options != nullptr, "has no options");
  const ValueId x = op.number(0);
  const ir::Shape from = op.shape(x);
  check(from.rank() == 2, "expected an input of two axes, found " + from.to_string());
  const ValueId sequence = op.step(ir::Reshape{{from[0], 1, from[1]}}, {x}, "sequence");
  const Style style{fused_activation(options->fused_activation_function()), 0, false};
  const ValueId states = rnn(op, sequence, 1, style, false);
  op.emit(ir::Reshape{{from[0], op.shape(states)[2]}}, {states});
}

constexpr ImportEntry kRecurrentImports[] = {
    {OperatorCode::kUnidirectionalSequenceLstm, import_lstm},
    {OperatorCode::kBidirectionalSequenceLstm, import_bidirectional_lstm},
    {OperatorCode::kUnidirectionalSequenceRnn, import_sequence_rnn},
    {OperatorCode::kBidirectionalSequenceRnn, import_bidirectional_rnn},
    {OperatorCode::kRnn, import_rnn_step},
};

}  // namespace

std::span<const ImportEntry> recurrent_imports() { return kRecurrentImports; }

}  // namespace halftone::formats::circle

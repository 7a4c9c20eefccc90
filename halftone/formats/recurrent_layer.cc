// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/recurrent_layer.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats {
namespace {

const ir::Tensor* dense_floats(const ir::Graph& graph, ir::ValueId id) {
  const ir::Constant* constant = graph.constant(id);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  return tensor != nullptr && tensor->element() == ir::ElementType::kFloat32 ? tensor : nullptr;
}

ir::RecurrentKind kind_of(const std::string& name) {
  for (const auto kind :
       {ir::RecurrentKind::kRnn, ir::RecurrentKind::kGru, ir::RecurrentKind::kLstm}) {
    if (name == to_string(kind)) return kind;
  }
  fail(ErrorKind::kFormat, "kind: expected RNN, GRU or LSTM, found '" + name + "'");
}

ir::ActivationKind function_of(const std::string& name) {
  for (const ir::ActivationTraits& traits : ir::activation_table()) {
    if (name == traits.name) return traits.kind;
  }
  fail(ErrorKind::kFormat, "unknown function '" + name + "'");
}

}  // namespace

std::size_t num_functions(ir::RecurrentKind kind) {
  if (kind == ir::RecurrentKind::kLstm) return 3;
  return kind == ir::RecurrentKind::kGru ? 2 : 1;
}

RecurrentFields recurrent_fields_of(const ir::Graph& graph, const ir::Node& node) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  RecurrentFields fields;
  fields.op = op;
  fields.kind = std::string(to_string(op.kind));
  for (std::size_t i = 0; i < op.activations.size(); ++i) {
    fields.functions[i] = std::string(to_string(op.activations[i].kind));
    fields.alphas[i] = op.activations[i].alpha;
    fields.betas[i] = op.activations[i].beta;
  }
  const ir::ValueType& weights = graph.value(node.inputs[ir::kRecurrenceWeights]).type;
  fields.codes.inputs = weights.shape[1];
  fields.codes.arithmetic = op.arithmetic;
  if (op.state_encoding != nullptr) {
    describe_activations(*op.state_encoding, fields.codes);
  }
  if (!weights.encoding.is_dense()) {
    describe_weights(*weights.encoding.codes, fields.codes);
  }
  return fields;
}

ir::Recurrent recurrent_of(const RecurrentFields& fields) {
  fields.codes.check();
  ir::Recurrent op = fields.op;
  op.kind = kind_of(fields.kind);
  op.arithmetic = fields.codes.arithmetic;
  for (std::size_t i = 0; i < op.activations.size(); ++i) {
    op.activations[i] = {function_of(fields.functions[i]), fields.alphas[i], fields.betas[i]};
  }
  return op;
}

std::optional<Projection> projection_of(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueId gates = node.inputs[ir::kGates];
  const auto producer = graph.producer(gates);
  const auto readers = graph.consumers(gates);
  const bool is_shared = !std::ranges::all_of(
      readers, [&](ir::NodeId reader) { return ir::is_recurrent(graph.node(reader).op); });
  if (!producer || is_shared || graph.num_uses(gates) != readers.size()) return std::nullopt;
  const ir::Node& before = graph.node(*producer);
  const auto* layer = std::get_if<ir::FullyConnected>(&before.op);
  if (layer == nullptr || *layer != ir::FullyConnected{}) return std::nullopt;
  Projection projection{*producer, before.inputs[0], dense_floats(graph, before.inputs[1])};
  if (projection.weights == nullptr) return std::nullopt;
  if (!graph.value(projection.x).type.is_dense(ir::ElementType::kFloat32)) return std::nullopt;
  if (before.inputs.size() > 2 && before.inputs[2] != ir::kAbsent) {
    projection.bias = dense_floats(graph, before.inputs[2]);
    if (projection.bias == nullptr) return std::nullopt;
  }
  return projection;
}

bool is_merged_projection(const ir::Graph& graph, const ir::Node& layer,
                          bool (*merges)(const ir::Graph& graph, const ir::Node& recurrent)) {
  const auto readers = graph.consumers(layer.output);
  return !readers.empty() && std::ranges::all_of(readers, [&](ir::NodeId id) {
    const ir::Node& reader = graph.node(id);
    if (!ir::is_recurrent(reader.op) || !merges(graph, reader)) return false;
    return graph.node(projection_of(graph, reader)->layer).output == layer.output;
  });
}

const ir::Tensor* dense_recurrence(const ir::Graph& graph, const ir::Node& node) {
  return dense_floats(graph, node.inputs[ir::kRecurrenceWeights]);
}

}  // namespace halftone::formats

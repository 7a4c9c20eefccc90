// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/code_plan.h"

#include <algorithm>
#include <variant>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::NodeId;
using ir::ValueId;

/// Functions of one number for which TensorFlow Lite has kernels of codes.
bool has_codes(ActivationKind kind) {
  constexpr ActivationKind kKinds[] = {ActivationKind::kRelu,    ActivationKind::kReluN1To1,
                                       ActivationKind::kRelu6,   ActivationKind::kLeakyRelu,
                                       ActivationKind::kElu,     ActivationKind::kTanh,
                                       ActivationKind::kSigmoid, ActivationKind::kHardSwish,
                                       ActivationKind::kGelu,    ActivationKind::kGeluTanh};
  return std::ranges::count(kKinds, kind) > 0;
}

bool is_float(const ir::Graph& graph, ValueId id) {
  return graph.value(id).type.is_dense(ir::ElementType::kFloat32);
}

/// Whether the weights can be int8 with a scale per output.
bool has_code_weights(const ir::Graph& graph, const ir::Node& node) {
  const ir::Constant* constant = graph.constant(node.inputs[1]);
  if (constant == nullptr) return false;
  const auto* encoded = std::get_if<ir::EncodedTensor>(constant);
  if (encoded == nullptr) return is_float(graph, node.inputs[1]);
  const numerics::MatrixEncoding& encoding = *encoded->encoding;
  return encoding.codebook != nullptr && encoding.codebook->name() == "int_narrow" &&
         encoding.bits <= 8 && encoding.granularity != numerics::Granularity::kGroup;
}

/// Whether a value is the projected input of a recurrent layer, which stays float32 as a whole.
bool feeds_recurrence(const ir::Graph& graph, ValueId id) {
  return std::ranges::any_of(
      graph.consumers(id), [&](NodeId reader) { return ir::is_recurrent(graph.node(reader).op); });
}

}  // namespace

bool keeps_codes(const ir::Graph& graph, const ir::Node& node) {
  const bool has_one_input = node.inputs.size() == 1 || std::holds_alternative<ir::Pad>(node.op);
  if (!has_one_input || !is_float(graph, node.output)) return false;
  return ir::traits_of(node.op).selects || std::holds_alternative<ir::Pool>(node.op);
}

std::optional<numerics::ValueRange> prescribed_range(const ir::Operator& op) {
  constexpr numerics::ValueRange kProbability{0, 255.0F / 256};
  constexpr numerics::ValueRange kSigned{-1, 127.0F / 128};
  if (std::holds_alternative<ir::Softmax>(op)) return kProbability;
  const auto* unary = std::get_if<ir::Unary>(&op);
  if (unary == nullptr) return std::nullopt;
  if (unary->activation.kind == ActivationKind::kSigmoid) return kProbability;
  if (unary->activation.kind == ActivationKind::kTanh) return kSigned;
  return std::nullopt;
}

bool has_code_form(const ir::Graph& graph, const ir::Node& node) {
  if (!is_float(graph, node.output) || feeds_recurrence(graph, node.output)) return false;
  if (std::holds_alternative<ir::FullyConnected>(node.op) ||
      std::holds_alternative<ir::Conv>(node.op)) {
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent;
    return has_code_weights(graph, node) &&
           (!has_bias || float_constant(graph, node.inputs[2]) != nullptr);
  }
  if (const auto* binary = std::get_if<ir::Binary>(&node.op)) {
    return binary->kind == ir::BinaryKind::kAdd || binary->kind == ir::BinaryKind::kSub ||
           binary->kind == ir::BinaryKind::kMul;
  }
  if (const auto* reduce = std::get_if<ir::Reduce>(&node.op)) {
    return reduce->kind == ir::ReduceKind::kMean;
  }
  if (const auto* softmax = std::get_if<ir::Softmax>(&node.op)) {
    return !softmax->log && softmax->axis + 1 == graph.value(node.output).type.shape.rank();
  }
  if (const auto* pool = std::get_if<ir::Pool>(&node.op)) {
    return pool->kind == ir::PoolKind::kAverage && !pool->count_padding;
  }
  if (const auto* unary = std::get_if<ir::Unary>(&node.op))
    return has_codes(unary->activation.kind);
  return std::holds_alternative<ir::Concat>(node.op);
}

std::vector<ValueId> computed_inputs(const ir::Graph& graph, const ir::Node& node) {
  std::vector<ValueId> found;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (ir::input_role(node.op, i) != ir::InputRole::kData) continue;
    if (graph.constant(node.inputs[i]) == nullptr) found.push_back(node.inputs[i]);
  }
  return found;
}

CodePlan::CodePlan(const ir::Graph& graph, const WantsCodes& wanted) : graph_(graph) {
  for (const NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const bool reads_joined =
        std::ranges::any_of(node.inputs, [this](ValueId input) { return joined_.contains(input); });
    if (reads_joined && ir::moves_elements(node.op)) joined_.insert(node.output);
    const bool keeps = keeps_codes(graph, node) && coded_.contains(node.inputs[0]) && !reads_joined;
    if (keeps && !std::holds_alternative<ir::Pool>(node.op)) {
      coded_.insert(node.output);
      keepers_.insert(node.output);
    }
    if (!has_code_form(graph, node)) continue;
    if (!wanted(node)) {
      if (std::holds_alternative<ir::Concat>(node.op)) joined_.insert(node.output);
      continue;
    }
    // Before the first layer, float32 inputs stay as they are.
    const auto inputs = computed_inputs(graph, node);
    const auto is_coded = [this](ValueId input) { return coded_.contains(input); };
    if (!ir::is_layer(node.op) && std::ranges::none_of(inputs, is_coded)) continue;
    computing_.insert(id);
    coded_.insert(inputs.begin(), inputs.end());
    coded_.insert(node.output);
    if (keeps_codes(graph, node)) keepers_.insert(node.output);
  }
}

std::vector<ValueId> CodePlan::ranged() const {
  std::vector<ValueId> values;
  for (const ValueId id : coded_) {
    const auto producer = graph_.producer(id);
    if (keeps(id) || (producer && prescribed_range(graph_.node(*producer).op))) continue;
    values.push_back(id);
  }
  return values;
}

}  // namespace halftone::passes

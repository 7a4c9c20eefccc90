// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/code_nodes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

/// The node that computes a value, if it is an Op.
template <typename Op>
const Op* computed_as(const ir::Graph& graph, ValueId value) {
  if (value == ir::kAbsent) return nullptr;
  const auto producer = graph.producer(value);
  return producer ? std::get_if<Op>(&graph.node(*producer).op) : nullptr;
}

/// Whether LiteRT has the operator for codes.
bool has_codes(const ir::Operator& op) {
  if (const auto* binary = std::get_if<ir::Binary>(&op)) {
    constexpr ir::BinaryKind kKinds[] = {ir::BinaryKind::kAdd, ir::BinaryKind::kSub,
                                         ir::BinaryKind::kMul, ir::BinaryKind::kDiv,
                                         ir::BinaryKind::kMax, ir::BinaryKind::kMin};
    return std::ranges::count(kKinds, binary->kind) != 0;
  }
  if (const auto* reduce = std::get_if<ir::Reduce>(&op)) {
    return reduce->kind == ir::ReduceKind::kMean;
  }
  // Operators of volumes compute on float32.
  if (const auto* conv = std::get_if<ir::Conv>(&op)) return conv->window.rank() < 3;
  if (const auto* conv = std::get_if<ir::ConvTranspose>(&op)) return conv->window.rank() < 3;
  return std::holds_alternative<ir::FullyConnected>(op) || std::holds_alternative<ir::Pool>(op) ||
         std::holds_alternative<ir::Unary>(op) || std::holds_alternative<ir::Softmax>(op) ||
         std::holds_alternative<ir::Concat>(op) || std::holds_alternative<ir::Pad>(op);
}

/// The QuantizeLinear that is the only reader of a node, if it ends an operator of codes.
std::optional<ir::NodeId> end_of(const ir::Graph& graph, const ir::Node& node) {
  if (graph.num_uses(node.output) != 1) return std::nullopt;
  const auto readers = graph.consumers(node.output);
  if (readers.size() != 1) return std::nullopt;
  const auto* end = std::get_if<ir::QuantizeLinear>(&graph.node(readers[0]).op);
  const bool fits = end != nullptr && end->rounding == ir::CodeRounding::kHalfAway &&
                    end->parameters.scales.size() == 1 && end->element != ir::ElementType::kInt32;
  return fits ? std::optional(readers[0]) : std::nullopt;
}

/// Whether an int32 bias has the scales of the products, as LiteRT requires.
bool has_scales_of_products(const ir::Graph& graph, const ir::Node& node) {
  constexpr double kRelative = 1e-4;
  const auto& x = *computed_as<ir::DequantizeLinear>(graph, node.inputs[0]);
  const auto& w = *computed_as<ir::DequantizeLinear>(graph, node.inputs[1]);
  const auto& bias = *computed_as<ir::DequantizeLinear>(graph, node.inputs[2]);
  const std::size_t count = w.parameters.scales.size();
  if (bias.parameters.scales.size() != count || x.parameters.scales.size() != 1) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const double product =
        static_cast<double>(x.parameters.scales[0]) * static_cast<double>(w.parameters.scales[i]);
    const auto scale = static_cast<double>(bias.parameters.scales[i]);
    if (std::abs(scale - product) > kRelative * product) return false;
  }
  return std::ranges::all_of(bias.parameters.zero_points, [](auto zero) { return zero == 0; });
}

/// What LiteRT stores beside values of a type: biases are int32, beside int16 int64, where weights
/// are int8.
ir::ElementType stored_as(ir::ElementType element, bool is_bias, bool is_weights) {
  const bool is_wide = element == ir::ElementType::kInt16;
  if (is_bias) return is_wide ? ir::ElementType::kInt64 : ir::ElementType::kInt32;
  return is_weights && is_wide ? ir::ElementType::kInt8 : element;
}

/// Whether all inputs are dequantized: data, constant weights and biases.
bool reads_codes(const ir::Graph& graph, const ir::Node& node, ir::ElementType element) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kAbsent) continue;
    const ValueId codes = codes_behind(graph, node.inputs[i]);
    if (codes == ir::kAbsent) return false;
    const bool is_bias = ir::input_role(node.op, i) == ir::InputRole::kBias;
    const bool is_weights = ir::input_role(node.op, i) == ir::InputRole::kWeights;
    if ((is_bias || is_weights) && graph.constant(codes) == nullptr) return false;
    if (!graph.value(codes).type.is_dense(stored_as(element, is_bias, is_weights))) return false;
    const auto& parameters = computed_as<ir::DequantizeLinear>(graph, node.inputs[i])->parameters;
    if (!is_bias && !is_weights && parameters.scales.size() != 1) return false;
    if (is_weights && parameters.scales.size() != 1 && parameters.axis != 0) return false;
    if (is_bias && !has_scales_of_products(graph, node)) return false;
  }
  return !node.inputs.empty();
}

}  // namespace

ValueId codes_behind(const ir::Graph& graph, ValueId value) {
  if (computed_as<ir::DequantizeLinear>(graph, value) == nullptr) return ir::kAbsent;
  return graph.node(*graph.producer(value)).inputs[0];
}

CodeNodes find_code_nodes(const ir::Graph& graph) {
  CodeNodes found;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!has_codes(node.op)) continue;
    const auto end = end_of(graph, node);
    if (!end) continue;
    const auto element = std::get<ir::QuantizeLinear>(graph.node(*end).op).element;
    if (!reads_codes(graph, node, element)) continue;
    found.computing.insert(id);
    found.conversions.insert(*end);
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::DequantizeLinear>(node.op)) continue;
    const auto readers = graph.consumers(node.output);
    const auto is_computing = [&](ir::NodeId reader) { return found.computing.contains(reader); };
    const bool is_output = std::ranges::count(graph.outputs(), node.output) > 0;
    if (!is_output && std::ranges::all_of(readers, is_computing)) found.conversions.insert(id);
  }
  return found;
}

}  // namespace halftone::formats::circle

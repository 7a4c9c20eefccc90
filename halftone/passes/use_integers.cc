// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/use_integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::ValueId;

/// Integers and what they stand for.
struct Codes {
  ValueId value = ir::kAbsent;
  const ir::AffineParameters* parameters = nullptr;
};

/// The integers of 8 bits that a value is dequantized from.
std::optional<Codes> codes_of(const ir::Graph& graph, ValueId id) {
  const auto* op = computed_by<ir::DequantizeLinear>(graph, id);
  if (op == nullptr) return std::nullopt;
  const Codes codes{graph.node(*graph.producer(id)).inputs[0], &op->parameters};
  const ir::ValueType& type = graph.value(codes.value).type;
  const bool narrow =
      type.is_dense(ir::ElementType::kInt8) || type.is_dense(ir::ElementType::kUint8);
  return narrow ? std::optional(codes) : std::nullopt;
}

/// What a bounding activation keeps its numbers within; none for any other.
std::optional<std::pair<double, double>> bounds_of(const ir::Activation& activation) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (activation.kind) {
    case ir::ActivationKind::kIdentity:
      return std::pair(-kInfinity, kInfinity);
    case ir::ActivationKind::kRelu:
      return std::pair(0.0, kInfinity);
    case ir::ActivationKind::kReluN1To1:
      return std::pair(-1.0, 1.0);
    case ir::ActivationKind::kRelu6:
      return std::pair(0.0, 6.0);
    case ir::ActivationKind::kClip:
      if (!(activation.alpha <= activation.beta)) return std::nullopt;
      return std::pair(static_cast<double>(activation.alpha), static_cast<double>(activation.beta));
    default:
      return std::nullopt;
  }
}

/// The activation of a layer this pass knows; null for any other operator.
ir::Activation* activation_of(ir::Operator& op) {
  if (auto* layer = std::get_if<ir::FullyConnected>(&op)) return &layer->activation;
  if (auto* conv = std::get_if<ir::Conv>(&op)) return &conv->activation;
  return nullptr;
}

ir::ZeroPoints& zero_points_of(ir::Operator& op) {
  if (auto* layer = std::get_if<ir::FullyConnected>(&op)) return layer->zero_points;
  return std::get<ir::Conv>(op).zero_points;
}

/// A layer whose parts have been found.
struct Match {
  Codes x;
  Codes w;
  const ir::QuantizeLinear* after = nullptr;
  ir::NodeId reader{};
  std::pair<double, double> bounds;

  /// The scale of the sums of an output.
  [[nodiscard]] double sum_scale(std::size_t o) const {
    const auto& scales = w.parameters->scales;
    return static_cast<double>(x.parameters->scales[0]) *
           static_cast<double>(scales[scales.size() == 1 ? 0 : o]);
  }
};

std::optional<Match> match(const ir::Graph& graph, const ir::Node& layer,
                           const ir::Activation& activation) {
  const auto x = codes_of(graph, layer.inputs[0]);
  const auto w = codes_of(graph, layer.inputs[1]);
  const auto reader = only_reader(graph, layer.output);
  const auto bounds = bounds_of(activation);
  if (!x || !w || !reader || !bounds) return std::nullopt;
  const auto* after = std::get_if<ir::QuantizeLinear>(&graph.node(*reader).op);
  if (after == nullptr || after->parameters.scales.size() != 1) return std::nullopt;
  if (after->element == ir::ElementType::kInt32) return std::nullopt;
  if (x->parameters->scales.size() != 1) return std::nullopt;
  if (dense_constant(graph, w->value) == nullptr) return std::nullopt;
  if (w->parameters->scales.size() != 1 && w->parameters->axis != 0) return std::nullopt;
  return Match{*x, *w, after, *reader, *bounds};
}

/// Whether int32 numbers with these parameters are sums as they are.
bool are_sums(const ir::AffineParameters& parameters, const Match& match, std::size_t outputs) {
  constexpr double kRelative = 1e-5;  // scales are float32 and their product was rounded
  const std::size_t count = parameters.scales.size();
  for (std::size_t o = 0; o < outputs; ++o) {
    const auto scale = static_cast<double>(parameters.scales[count == 1 ? 0 : o]);
    const double wanted = match.sum_scale(o);
    if (std::abs(scale - wanted) > kRelative * wanted) return false;
  }
  return std::ranges::all_of(parameters.zero_points, [](std::int32_t zero) { return zero == 0; });
}

/// The bias as sums; none if it cannot be.
std::optional<ir::Tensor> bias_of(const ir::Graph& graph, ValueId id, const Match& match) {
  if (const auto* op = computed_by<ir::DequantizeLinear>(graph, id)) {
    const ir::Tensor* codes = dense_constant(graph, graph.node(*graph.producer(id)).inputs[0]);
    if (codes == nullptr || codes->element() != ir::ElementType::kInt32) return std::nullopt;
    if (!are_sums(op->parameters, match, codes->size())) return std::nullopt;
    return codes->clone();
  }
  const ir::Tensor* numbers = float_constant(graph, id);
  if (numbers == nullptr) return std::nullopt;
  ir::Tensor sums(ir::ElementType::kInt32, numbers->shape());
  for (std::size_t o = 0; o < sums.size(); ++o) {
    constexpr double kMost = std::numeric_limits<std::int32_t>::max();
    const double sum =
        std::nearbyint(static_cast<double>(numbers->as<float>()[o]) / match.sum_scale(o));
    if (!(std::abs(sum) <= kMost)) return std::nullopt;
    sums.as<std::int32_t>()[o] = static_cast<std::int32_t>(sum);
  }
  return sums;
}

/// The code of a bound, within those there are.
std::int32_t bound_code(double bound, const ir::QuantizeLinear& after) {
  const auto [low, high] = ir::code_range(after.element);
  const double scale = static_cast<double>(after.parameters.scales[0]);
  const double code = std::nearbyint(bound / scale) + after.parameters.zero_points[0];
  return static_cast<std::int32_t>(
      std::clamp(code, static_cast<double>(low), static_cast<double>(high)));
}

ir::Requantize requantize_of(const Match& match) {
  const ir::QuantizeLinear& after = *match.after;
  ir::Requantize op;
  for (std::size_t o = 0; o < match.w.parameters->scales.size(); ++o) {
    op.multipliers.push_back(match.sum_scale(o) / static_cast<double>(after.parameters.scales[0]));
  }
  op.zero_point = after.parameters.zero_points[0];
  op.element = after.element;
  op.low = bound_code(match.bounds.first, after);
  op.high = bound_code(match.bounds.second, after);
  return op;
}

/// Whether the operators that would replace a layer hold what their rules ask.
bool is_sound(const ir::Requantize& op) {
  return std::ranges::all_of(op.multipliers, [](double m) { return std::isfinite(m) && m > 0; });
}

bool rewrite_layer(ir::Graph& graph, ir::NodeId id) {
  const ir::Node layer = graph.node(id);
  ir::Operator op = layer.op;
  ir::Activation* activation = activation_of(op);
  if (activation == nullptr) return false;
  const auto found = match(graph, layer, *activation);
  if (!found) return false;
  ir::Requantize requantize = requantize_of(*found);
  if (!is_sound(requantize)) return false;
  std::vector<ValueId> inputs = {found->x.value, found->w.value};
  std::optional<ir::Tensor> bias;
  if (layer.inputs.size() > 2 && layer.inputs[2] != ir::kAbsent) {
    bias = bias_of(graph, layer.inputs[2], *found);
    if (!bias) return false;
  }
  *activation = {};
  zero_points_of(op) = {found->x.parameters->zero_points[0], found->w.parameters->zero_points};
  if (bias) {
    const std::string name = graph.value(layer.inputs[2]).name;
    inputs.push_back(graph.add_constant(name + "/sums", std::move(*bias)));
  }
  const ir::NodeId reader = found->reader;  // what else was found ends with the next line
  const ValueId sums = graph.add_node(layer.name, std::move(op), std::move(inputs));
  graph.replace_node(reader, std::move(requantize), {sums});
  return true;
}

}  // namespace

bool use_integers(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    if (graph.contains(id)) changed = rewrite_layer(graph, id) || changed;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes

// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/use_integers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/integer_grid.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using Form = bool (*)(ir::Graph&, ir::NodeId);

/// In the order of the attempts.
constexpr std::array<Form, 7> kForms = {
    use_integer_product, use_integer_binary,     use_integer_mean, use_softmax_of_codes,
    read_codes_later,    quantize_before_concat, use_table,
};

/// Quantizes before a Reshape or Transpose instead of behind it, next to what computes the value.
bool quantize_before_moves(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ir::Node move = graph.node(*id);
    if (!ir::traits_of(move.op).permutes || !graph.producer(move.inputs[0])) continue;
    const auto reader = only_reader(graph, move.output);
    const auto* quantize =
        reader ? std::get_if<ir::QuantizeLinear>(&graph.node(*reader).op) : nullptr;
    if (quantize == nullptr || quantize->parameters.scales.size() != 1) continue;
    const ir::ValueId codes = graph.add_node(move.name + "/codes", *quantize, move.inputs);
    graph.replace_node(*reader, move.op, {codes});
    graph.remove_node(*id);
    changed = true;
  }
  return changed;
}

/// The code of a bound, clamped to the range of codes.
std::int32_t bound_code(double bound, const Codes& codes, ir::CodeRounding rounding) {
  const auto [low, high] = ir::code_range(codes.element);
  double steps = std::nearbyint(bound / static_cast<double>(codes.scale()));
  if (rounding == ir::CodeRounding::kHalfAway) {
    steps = static_cast<double>(std::round(static_cast<float>(bound) / codes.scale()));
  }
  return static_cast<std::int32_t>(
      std::clamp(steps + codes.zero_point(), static_cast<double>(low), static_cast<double>(high)));
}

}  // namespace

bool use_integers(ir::Graph& graph) {
  bool changed = quantize_before_moves(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    for (const Form form : kForms) {
      if (!graph.contains(id) || !form(graph, id)) continue;
      changed = true;
      break;
    }
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

std::optional<Codes> codes_of(const ir::Graph& graph, ir::ValueId id, bool along_axis) {
  const auto* op = computed_by<ir::DequantizeLinear>(graph, id);
  if (op == nullptr || (!along_axis && op->parameters.scales.size() != 1)) return std::nullopt;
  const ir::ValueId value = graph.node(*graph.producer(id)).inputs[0];
  const ir::ValueType& type = graph.value(value).type;
  if (!ir::are_codes(type)) return std::nullopt;
  return Codes{value, op->parameters, type.encoding.element};
}

bool Target::is_bounded() const {
  const auto [low, high] = ir::code_range(codes.element);
  return range.low > low || range.high < high;
}

std::optional<Target> target_at(const ir::Graph& graph, ir::NodeId quantize, ir::Limits bounds) {
  const ir::Node& node = graph.node(quantize);
  const auto* op = std::get_if<ir::QuantizeLinear>(&node.op);
  if (op == nullptr || op->parameters.scales.size() != 1) return std::nullopt;
  if (!ir::are_codes(graph.value(node.output).type)) return std::nullopt;
  Target target{quantize, {node.output, op->parameters, op->element}, op->rounding, {}};
  target.range = {bound_code(bounds.low, target.codes, op->rounding),
                  bound_code(bounds.high, target.codes, op->rounding)};
  return target;
}

std::optional<Target> target_of(const ir::Graph& graph, ir::ValueId id,
                                const ir::Activation& activation) {
  auto bounds = ir::limits_of(activation);
  auto reader = only_reader(graph, id);
  if (!bounds || !reader) return std::nullopt;
  if (const auto* unary = std::get_if<ir::Unary>(&graph.node(*reader).op)) {
    if (activation != ir::Activation{}) return std::nullopt;
    bounds = ir::limits_of(unary->activation);
    reader = only_reader(graph, graph.node(*reader).output);
    if (!bounds || !reader) return std::nullopt;
  }
  return target_at(graph, *reader, *bounds);
}

std::optional<ir::Requantize> requantize_to(const Target& target, std::vector<double> multipliers,
                                            bool once) {
  const bool twice = target.in_integers() && !once;
  const auto fits = [twice](double m) {
    return std::isfinite(m) && m > 0 && (!twice || m < numerics::kFixedMultiplierEnd);
  };
  if (!std::ranges::all_of(multipliers, fits)) return std::nullopt;
  const auto rounding = twice ? ir::CodeRounding::kTwice : target.rounding;
  return ir::Requantize{std::move(multipliers), target.codes.zero_point(), target.codes.element,
                        target.range.low,       target.range.high,         rounding};
}

}  // namespace halftone::passes

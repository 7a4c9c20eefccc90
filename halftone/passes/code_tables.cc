// SPDX-License-Identifier: Apache-2.0
// Tables for functions of one code, with the results of TensorFlow Lite's kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/numerics/integer_grid.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::ValueId;
using numerics::FixedMultiplier;

/// A function from codes to codes: source x, elementwise functions in order, target y.
struct Chain {
  Codes x;
  std::vector<ir::Activation> functions;
  Target y;
};

/// The chain from codes to an 8-bit QuantizeLinear through functions without other readers.
std::optional<Chain> chain_to(const ir::Graph& graph, ir::NodeId quantize) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto target = target_at(graph, quantize, {-kInfinity, kInfinity});
  if (!target) return std::nullopt;
  Chain chain{{}, {}, *target};
  ValueId value = graph.node(quantize).inputs[0];
  while (const auto* unary = computed_by<ir::Unary>(graph, value)) {
    if (!only_reader(graph, value)) return std::nullopt;
    chain.functions.insert(chain.functions.begin(), unary->activation);
    value = graph.node(*graph.producer(value)).inputs[0];
  }
  const auto x = codes_of(graph, value);
  if (!x) return std::nullopt;
  chain.x = *x;
  return chain;
}

/// The table of function(q), clamped to the bounds of the target.
template <typename Function>
ir::Lookup table_of(const Chain& chain, ir::CodeRange range, Function&& function) {
  ir::Lookup lookup{chain.y.codes.element, {}};
  const auto [low, high] = ir::code_range(chain.x.element);
  for (std::int32_t q = low; q <= high; ++q) {
    lookup.table.push_back(
        std::clamp(static_cast<std::int32_t>(function(q)), range.low, range.high));
  }
  return lookup;
}

/// The reference implementation of the operators, evaluated for every code.
ir::Lookup evaluated(const Chain& chain, ir::CodeRounding rounding) {
  const auto [low, high] = ir::code_range(chain.x.element);
  ir::Tensor codes(ir::ElementType::kInt32, {ir::Lookup::kCodes});
  std::int32_t next = low;
  for (std::int32_t& q : codes.as<std::int32_t>()) q = next++;
  ir::Tensor value = codes.cast(chain.x.element);
  const auto apply = [&value](const ir::Operator& op) {
    const std::vector<const ir::Tensor*> inputs = {&value};
    value = ir::evaluate_operator(op, inputs);
  };
  apply(ir::DequantizeLinear{chain.x.parameters});
  for (const ir::Activation& function : chain.functions) apply(ir::Unary{function});
  apply(ir::QuantizeLinear{chain.y.codes.parameters, chain.y.codes.element, rounding});
  const ir::Tensor wide = value.cast(ir::ElementType::kInt32);
  const auto numbers = wide.as<std::int32_t>();
  return {chain.y.codes.element, {numbers.begin(), numbers.end()}};
}

bool is_fixed(double multiplier) {
  return multiplier >= 0 && multiplier < numerics::kFixedMultiplierEnd;
}

/// y = clamp(zero_point + (q - zero_point_x) m): QUANTIZE, and the RELU family with its bounds.
/// @param multiplier  of float64 (kernels/quantize.cc), or rounded to float32 (activations.cc)
std::optional<ir::Lookup> rescaled(const Chain& chain, double multiplier, ir::CodeRange range) {
  if (!is_fixed(multiplier)) return std::nullopt;
  const FixedMultiplier m = numerics::fixed_multiplier(multiplier);
  return table_of(chain, range, [&](std::int32_t q) {
    return chain.y.codes.zero_point() + numerics::multiply(q - chain.x.zero_point(), m);
  });
}

/// Source: TensorFlow Lite, kernels/internal/reference/leaky_relu.h, QuantizeLeakyRelu.
std::optional<ir::Lookup> leaky_relu(const Chain& chain, float alpha) {
  const auto positive = static_cast<double>(chain.x.scale() / chain.y.codes.scale());
  const auto negative = static_cast<double>(chain.x.scale() * alpha / chain.y.codes.scale());
  if (!is_fixed(positive) || !is_fixed(negative)) return std::nullopt;
  const FixedMultiplier above = numerics::fixed_multiplier(positive);
  const FixedMultiplier below = numerics::fixed_multiplier(negative);
  return table_of(chain, chain.y.range, [&](std::int32_t q) {
    const std::int32_t x = q - chain.x.zero_point();
    return chain.y.codes.zero_point() + numerics::multiply(x, x >= 0 ? above : below);
  });
}

std::int32_t saturated(std::int64_t x) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int16_t>::max();
  return static_cast<std::int32_t>(std::clamp(x, -kMax - 1, kMax));
}

/// a b / 2^15 for 16-bit values, rounded to nearest or down.
std::int32_t high_product(std::int32_t a, std::int32_t b, bool to_nearest) {
  const std::int64_t product = std::int64_t{a} * b;
  if (!to_nearest) return saturated(product / (1 << 15));
  return saturated((product + (1 << 14)) >> 15);
}

/// The upper 16 bits of a mantissa.
std::int32_t short_mantissa(FixedMultiplier m) {
  return saturated((std::int64_t{m.mantissa} + (1 << 15)) >> 16);
}

/// x min(max(x / 6 + 1/2, 0), 1) in 16 bits.
/// Source: TensorFlow Lite, kernels/internal/reference/hard_swish.h.
std::optional<ir::Lookup> hard_swish(const Chain& chain) {
  const float fine_scale = (1.0F / 128.0F) * chain.x.scale();
  const auto to_output = static_cast<double>(fine_scale / chain.y.codes.scale());
  const auto to_gate = static_cast<double>(fine_scale / (3.0F / 32768.0F));
  if (!is_fixed(to_output) || !is_fixed(to_gate)) return std::nullopt;
  const FixedMultiplier output = numerics::fixed_multiplier(to_output);
  const FixedMultiplier gate = numerics::fixed_multiplier(to_gate);
  if (output.shift > 0) return std::nullopt;  // TensorFlow Lite rejects it too
  return table_of(chain, chain.y.range, [&](std::int32_t q) {
    const std::int32_t fine = (q - chain.x.zero_point()) * 128;
    const std::int32_t x = high_product(fine, short_mantissa(output), true);
    std::int32_t g = fine;  // the gate, in [-1, 1) of 2^15
    if (gate.shift > 0) g = saturated(std::int64_t{g} << (gate.shift - 1));
    g = high_product(g, short_mantissa(gate), true);
    if (gate.shift > 0) g = saturated(std::int64_t{g} * 2);
    if (gate.shift < 0) g = numerics::shifted_right(g, -gate.shift);
    g = (g + (1 << 15)) >> 1;
    const std::int32_t product = high_product(g, x, false);
    return chain.y.codes.zero_point() + numerics::shifted_right(product, -output.shift);
  });
}

/// Any other function, computed in float32 with the inverse scale.
/// Source: TensorFlow Lite, kernels/activations.cc, PopulateLookupTable.
ir::Lookup by_function(const Chain& chain, const ir::Activation& function) {
  const float inverse_scale = 1 / chain.y.codes.scale();
  return table_of(chain, chain.y.range, [&](std::int32_t q) {
    const float x = chain.x.scale() * static_cast<float>(q - chain.x.zero_point());
    const float code = std::round(ir::apply(function, x) * inverse_scale) +
                       static_cast<float>(chain.y.codes.zero_point());
    return std::isnan(code) ? 0.0F : std::clamp(code, -1e6F, 1e6F);
  });
}

/// The table of TensorFlow Lite's kernel; none if there is no such kernel.
std::optional<ir::Lookup> integer_table(const ir::Graph& graph, const Chain& chain) {
  if (chain.functions.empty()) {
    return rescaled(
        chain, static_cast<double>(chain.x.scale()) / static_cast<double>(chain.y.codes.scale()),
        chain.y.range);
  }
  if (chain.functions.size() > 1) return std::nullopt;
  const ir::Activation& function = chain.functions[0];
  if (const auto bounds = ir::limits_of(function)) {
    const Target bounded = *target_at(graph, chain.y.quantize, *bounds);
    return rescaled(chain, static_cast<double>(chain.x.scale() / chain.y.codes.scale()),
                    bounded.range);
  }
  if (function.kind == ActivationKind::kLeakyRelu) return leaky_relu(chain, function.alpha);
  if (function.kind == ActivationKind::kHardSwish) return hard_swish(chain);
  return by_function(chain, function);
}

bool changes_nothing(const Chain& chain, const ir::Lookup& lookup) {
  if (chain.x.element != chain.y.codes.element) return false;
  std::int32_t next = ir::code_range(chain.x.element).low;
  return std::ranges::all_of(lookup.table, [&next](std::int32_t y) { return y == next++; });
}

}  // namespace

bool use_table(ir::Graph& graph, ir::NodeId id) {
  const auto chain = chain_to(graph, id);
  if (!chain) return false;
  std::optional<ir::Lookup> lookup;
  if (chain->y.in_integers()) lookup = integer_table(graph, *chain);
  if (!lookup) lookup = evaluated(*chain, chain->y.rounding);
  if (changes_nothing(*chain, *lookup) &&
      replace_value(graph, graph.node(id).output, chain->x.value)) {
    return true;
  }
  graph.replace_node(id, std::move(*lookup), {chain->x.value});
  return true;
}

bool quantize_before_concat(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const auto* op = std::get_if<ir::Concat>(&node.op);
  if (op == nullptr) return false;
  const auto target = target_of(graph, node.output);
  if (!target || target->is_bounded()) return false;
  std::vector<Codes> inputs;
  for (const ValueId input : node.inputs) {
    const auto codes = codes_of(graph, input);
    if (!codes) return false;
    inputs.push_back(*codes);
  }
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Chain chain{inputs[i], {}, *target};
    values.push_back(graph.add_node(node.name + "/codes" + std::to_string(i),
                                    evaluated(chain, target->rounding), {inputs[i].value}));
  }
  graph.replace_node(target->quantize, *op, std::move(values));
  return true;
}

}  // namespace halftone::passes

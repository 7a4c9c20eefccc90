// SPDX-License-Identifier: Apache-2.0
// Sums, products and means of codes with TensorFlow Lite's integer arithmetic.
#include <algorithm>
#include <utility>

#include "halftone/numerics/integer_grid.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

using ir::ValueId;

/// A Lookup from codes to int32: function(q - zero_point).
template <typename Function>
ir::Lookup integers_of(const Codes& codes, Function&& function) {
  ir::Lookup lookup{ir::ElementType::kInt32, {}};
  const auto [low, high] = ir::code_range(codes.element);
  for (std::int32_t q = low; q <= high; ++q) {
    lookup.table.push_back(function(q - codes.zero_point()));
  }
  return lookup;
}

ir::Lookup centred(const Codes& codes) {
  return integers_of(codes, [](std::int32_t x) { return x; });
}

/// Fraction bits of the operands of a sum.
constexpr std::int32_t kSumBits = 20;

/// Converts the operands of a sum to int32 with a common scale, twice the larger scale times 2^-20.
/// Source: TensorFlow Lite, kernels/add.cc, PrepareGeneralAdd;
/// kernels/internal/reference/integer_ops/add.h.
struct SumScale {
  double twice_larger;

  [[nodiscard]] ir::Lookup operand(const Codes& codes) const {
    const auto m = numerics::fixed_multiplier(static_cast<double>(codes.scale()) / twice_larger);
    return integers_of(codes, [m](std::int32_t x) { return numerics::multiply(x << kSumBits, m); });
  }
  [[nodiscard]] double to(const Codes& codes) const {
    return twice_larger / (static_cast<double>(1 << kSumBits) * static_cast<double>(codes.scale()));
  }
};

/// The conversions of the operands to int32 and of the result to codes.
struct BinaryForm {
  ir::Lookup a;
  ir::Lookup b;
  double multiplier = 0;
};

std::optional<BinaryForm> form_of(ir::BinaryKind kind, const Codes& a, const Codes& b,
                                  const Codes& y) {
  if (kind == ir::BinaryKind::kMul) {
    // In float32, as in kernels/mul.cc.
    return BinaryForm{centred(a), centred(b),
                      static_cast<double>(a.scale() * b.scale() / y.scale())};
  }
  if (kind != ir::BinaryKind::kAdd && kind != ir::BinaryKind::kSub) return std::nullopt;
  const SumScale scale{2 * static_cast<double>(std::max(a.scale(), b.scale()))};
  return BinaryForm{scale.operand(a), scale.operand(b), scale.to(y)};
}

/// An AveragePool whose input and output codes represent equal values.
bool use_integer_pool(ir::Graph& graph, const ir::Node& node, const ir::Pool& op) {
  const auto x = codes_of(graph, node.inputs[0]);
  const auto target = target_of(graph, node.output);
  if (op.kind != ir::PoolKind::kAverage || op.count_padding) return false;
  if (!x || !target || !target->in_integers() || !x->same_numbers(target->codes)) return false;
  if (!target->is_bounded()) {
    graph.replace_node(target->quantize, op, {x->value});
    return true;
  }
  ir::Lookup bound{x->element, {}};
  const auto [low, high] = ir::code_range(x->element);
  for (std::int32_t q = low; q <= high; ++q) {
    bound.table.push_back(std::clamp(q, target->range.low, target->range.high));
  }
  const ValueId means = graph.add_node(node.name, op, {x->value});
  graph.replace_node(target->quantize, std::move(bound), {means});
  return true;
}

/// Source: TensorFlow Lite, kernels/internal/reference/reduce.h, QuantizedMeanOrSum.
/// Differs: the reference kernel of SUM adds 8-bit codes into 8 bits, which wraps around; here a
/// sum uses QuantizedMeanOrSum.
bool use_integer_reduce(ir::Graph& graph, const ir::Node& node, const ir::Reduce& op) {
  const auto x = codes_of(graph, node.inputs[0]);
  const auto target = target_of(graph, node.output);
  if (op.kind != ir::ReduceKind::kMean && op.kind != ir::ReduceKind::kSum) return false;
  if (!x || !target || !target->in_integers()) return false;
  const double to_codes =
      static_cast<double>(x->scale()) / static_cast<double>(target->codes.scale());
  auto requantize = requantize_to(*target, {to_codes});
  if (!requantize) return false;
  if (op.kind == ir::ReduceKind::kMean) {
    const ir::Shape& shape = graph.value(x->value).type.shape;
    if (!std::ranges::all_of(op.axes,
                             [&](std::size_t axis) { return !ir::is_open(shape[axis]); })) {
      return false;
    }
    for (const std::size_t axis : op.axes) requantize->count *= shape[axis];
    if (requantize->count == 0) return false;
  }
  const ValueId wide = graph.add_node(node.name + "/centred", centred(*x), {x->value});
  const ir::Reduce sum{ir::ReduceKind::kSum, op.axes, op.keep_dims};
  const ValueId sums = graph.add_node(node.name, sum, {wide});
  graph.replace_node(target->quantize, std::move(*requantize), {sums});
  return true;
}

}  // namespace

bool use_integer_binary(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const auto* op = std::get_if<ir::Binary>(&node.op);
  if (op == nullptr) return false;
  const auto a = codes_of(graph, node.inputs[0]);
  const auto b = codes_of(graph, node.inputs[1]);
  const auto target = target_of(graph, node.output, op->activation);
  if (!a || !b || !target || !target->in_integers()) return false;
  auto form = form_of(op->kind, *a, *b, target->codes);
  if (!form) return false;
  auto requantize = requantize_to(*target, {form->multiplier});
  if (!requantize) return false;
  const ValueId wide_a = graph.add_node(node.name + "/a", std::move(form->a), {a->value});
  const ValueId wide_b = graph.add_node(node.name + "/b", std::move(form->b), {b->value});
  const ValueId result = graph.add_node(node.name, ir::Binary{op->kind, {}}, {wide_a, wide_b});
  graph.replace_node(target->quantize, std::move(*requantize), {result});
  return true;
}

bool use_integer_mean(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  if (const auto* pool = std::get_if<ir::Pool>(&node.op)) {
    return use_integer_pool(graph, node, *pool);
  }
  const auto* reduce = std::get_if<ir::Reduce>(&node.op);
  return reduce != nullptr && use_integer_reduce(graph, node, *reduce);
}

bool use_softmax_of_codes(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const auto* op = std::get_if<ir::Softmax>(&node.op);
  if (op == nullptr || op->log || op->axis + 1 != graph.value(node.output).type.shape.rank()) {
    return false;
  }
  const auto x = codes_of(graph, node.inputs[0]);
  const auto target = target_of(graph, node.output);
  if (!x || !target || !target->in_integers()) return false;
  graph.replace_node(id, ir::Softmax{op->axis, x->scale() * op->beta, false}, {x->value});
  return true;
}

}  // namespace halftone::passes

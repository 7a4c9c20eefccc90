// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone::runtime {
namespace {

/// The verdict for an implementation that accepts a node, considering the layouts of its codes.
Verdict with_layouts(const Implementation& candidate, const NodeContext& context, Verdict verdict) {
  const bool reads_codes = context.has_input(0) && !context.input(0).encoding.is_dense();
  if (reads_codes && candidate.reads != context.input_layout(0)) {
    if (candidate.reads == CodeLayout::kInt8) return refuse("the input is stored as bits");
    return refuse("the input is stored as 8-bit integers");
  }
  if (candidate.writes.value_or(context.output_layout()) != context.output_layout()) {
    return refuse(candidate.writes == CodeLayout::kInt8 ? "its readers read bits"
                                                        : "its readers multiply integers");
  }
  return verdict;
}

/// The arithmetic of a layer that a kernel of codes computes; nothing for other kernels.
std::optional<ir::Arithmetic> arithmetic_of_codes(const Implementation& candidate) {
  for (const auto each :
       {ir::Arithmetic::kGroups, ir::Arithmetic::kBits, ir::Arithmetic::kIntegers}) {
    if (computes(candidate.arithmetic, each)) return each;
  }
  return std::nullopt;
}

/// Why the arithmetic of a layer is not that of a kernel of codes.
std::string why_not_codes(ir::Arithmetic wanted, const NodeContext& context) {
  const ir::Graph& graph = context.graph;
  const ir::Node& node = context.node;
  if (auto reason = ir::why_not(wanted, graph, node)) return *reason;
  const auto by_rule = ir::arithmetic_by_rule(graph, node, context.int8_activations);
  if (context.arithmetic == by_rule) {
    if (auto reason = ir::why_not_by_rule(wanted, graph, node, context.int8_activations)) {
      return *reason;
    }
  }
  if (!context.arithmetic) return "there is nothing to compute";
  return "the layer computes " + std::string(to_string(*context.arithmetic));
}

/// Refuses a kernel that does not compute the arithmetic of a node, if that has one, in its order
/// of sums.
std::optional<Verdict> refuse_arithmetic(const Implementation& candidate,
                                         const NodeContext& context) {
  if (const auto codes = arithmetic_of_codes(candidate)) {
    const bool fits = context.arithmetic == codes;
    if (fits && !ir::why_not(*codes, context.graph, context.node)) return std::nullopt;
    return refuse(why_not_codes(*codes, context));
  }
  if (context.arithmetic && !computes(candidate.arithmetic, *context.arithmetic)) {
    return refuse("the layer computes " + std::string(to_string(*context.arithmetic)));
  }
  if (candidate.arithmetic == KernelArithmetic::kFastestFloat &&
      context.float_order == FloatOrder::kFixed) {
    return refuse("its order of sums depends on the processor");
  }
  return std::nullopt;
}

/// The verdict for an implementation regardless of code layouts.
Verdict judged(const Implementation& candidate, const NodeContext& context) {
  if (auto refusal = refuse_arithmetic(candidate, context)) return std::move(*refusal);
  return candidate.judge(context);
}

/// Nothing if there is nothing to compute.
std::optional<ir::Arithmetic> arithmetic_of(const ir::Graph& graph, const ir::Node& node,
                                            const PlanSettings& options) {
  if (graph.value(node.output).type.shape.element_count() == 0) return std::nullopt;
  return ir::arithmetic_of(graph, node, options.execution.int8_activations);
}

/// Layers of codes add in one order: a file says what they compute, to the last bit.
FloatOrder order_of(const ir::Graph& graph, const ir::Node& node, const PlanSettings& options) {
  const bool has_codes = ir::arithmetic(node.op) != nullptr && ir::layer_codes(graph, node).any();
  return has_codes ? FloatOrder::kFixed : options.execution.float_order;
}

/// The readers of a value that multiply its codes as integers.
std::vector<ir::NodeId> integer_readers(const ir::Graph& graph, ir::ValueId codes,
                                        const PlanSettings& options) {
  std::vector<ir::NodeId> readers;
  for (const ir::NodeId id : graph.consumers(codes)) {
    const ir::Node& reader = graph.node(id);
    if (std::ranges::count(reader.inputs, codes) != 1 || reader.inputs[0] != codes) continue;
    if (preferred_layout(context_of(graph, reader, options, {})) == CodeLayout::kInt8) {
      readers.push_back(id);
    }
  }
  return readers;
}

/// A copy of an Encode for some of its readers.
ir::ValueId split_encode(ir::Graph& graph, ir::NodeId id, std::span<const ir::NodeId> readers) {
  const ir::Node encode = graph.node(id);
  const ir::ValueId copy = graph.add_node(encode.name, encode.op, encode.inputs);
  for (const ir::NodeId reader : readers) {
    ir::Operator op = graph.node(reader).op;
    std::vector<ir::ValueId> inputs = graph.node(reader).inputs;
    std::ranges::replace(inputs, encode.output, copy);
    graph.replace_node(reader, std::move(op), std::move(inputs));
  }
  return copy;
}

}  // namespace

NodeContext context_of(const ir::Graph& graph, const ir::Node& node, const PlanSettings& options,
                       std::span<const CodeLayout> layouts) {
  return {.graph = graph,
          .node = node,
          .threads = options.threads,
          .int8_activations = options.execution.int8_activations,
          .float_order = order_of(graph, node, options),
          .arithmetic = arithmetic_of(graph, node, options),
          .layouts = layouts,
          .packed_weights = options.execution.packed_weights.get(),
          .settings = &options};
}

std::string Choice::reason() const {
  if (!verdict.speed) return verdict.reason;
  const double us = verdict.speed->us;
  return fmt::format("{}: about {:.{}f} us", verdict.reason, us, us < 10 ? 2 : 0);
}

Choice choose(const NodeContext& context) {
  Choice choice;
  for (const Implementation* candidate : implementations(context.node.op)) {
    Verdict verdict = judged(*candidate, context);
    if (verdict.accepted) verdict = with_layouts(*candidate, context, std::move(verdict));
    if (verdict.accepted) {
      choice.implementation = candidate;
      choice.verdict = std::move(verdict);
      break;
    }
    choice.refused.push_back({std::string(candidate->name), std::move(verdict.reason)});
  }
  return choice;
}

CodeLayout preferred_layout(const NodeContext& context) {
  for (const Implementation* candidate : implementations(context.node.op)) {
    if (judged(*candidate, context).accepted) return candidate->reads;
  }
  return CodeLayout::kPlanes;
}

std::vector<CodeLayout> choose_code_layouts(ir::Graph& graph, const PlanSettings& options) {
  std::vector<ir::ValueId> integers;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::ValueId codes = graph.node(id).output;
    if (graph.value(codes).type.encoding.is_dense()) continue;
    const std::vector<ir::NodeId> readers = integer_readers(graph, codes, options);
    if (readers.empty()) continue;
    const bool all = readers.size() == graph.num_uses(codes);
    integers.push_back(all ? codes : split_encode(graph, id, readers));
  }
  std::vector<CodeLayout> layouts(graph.num_values(), CodeLayout::kPlanes);
  for (const ir::ValueId id : integers) layouts[static_cast<std::size_t>(id)] = CodeLayout::kInt8;
  return layouts;
}

}  // namespace halftone::runtime

// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/choose.h"

#include <fmt/format.h>

#include <utility>

#include "halftone/runtime/plan/registry.h"

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

}  // namespace

NodeContext context_of(const ir::Graph& graph, const ir::Node& node, const PlanOptions& options,
                       std::span<const CodeLayout> layouts) {
  return {.graph = graph,
          .node = node,
          .threads = options.threads,
          .int8_activations = options.int8_activations,
          .float_order = options.float_order,
          .layouts = layouts};
}

std::string Choice::reason() const {
  if (!verdict.speed) return verdict.reason;
  const double us = verdict.speed->us;
  return fmt::format("{}: about {:.{}f} us", verdict.reason, us, us < 10 ? 2 : 0);
}

Choice choose(const NodeContext& context) {
  Choice choice;
  for (const Implementation* candidate : implementations(context.node.op)) {
    Verdict verdict = candidate->judge(context);
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
    if (candidate->judge(context).accepted) return candidate->reads;
  }
  return CodeLayout::kPlanes;
}

}  // namespace halftone::runtime

// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/choose.h"

#include <fmt/format.h>

#include <utility>

#include "halftone/runtime/plan/registry.h"

namespace halftone::runtime {
namespace {

std::string with_cost(const Verdict& verdict) {
  if (!verdict.cost_us) return verdict.reason;
  const double us = *verdict.cost_us;
  return fmt::format("{}: about {:.{}f} us", verdict.reason, us, us < 10 ? 2 : 0);
}

/// The verdict for an implementation that accepts a node, considering the layouts of its codes.
Verdict with_layouts(const Implementation& candidate, const NodeContext& context, Verdict verdict) {
  const bool reads_codes = context.has_input(0) && !context.input(0).encoding.is_dense();
  if (reads_codes && candidate.reads != context.input_layout(0)) {
    if (candidate.reads == CodeLayout::kInt8) return refuse("the input is stored as bits");
    return refuse(verdict.reason + ": 8-bit integers are faster");
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

std::string Choice::reason() const { return with_cost(verdict); }

Choice choose(const NodeContext& context) {
  Choice choice;
  const auto refuse_by = [&choice](const Implementation& who, std::string reason) {
    choice.refused.push_back({std::string(who.name), std::move(reason)});
  };
  for (const Implementation* candidate : implementations(context.node.op)) {
    Verdict verdict = candidate->judge(context);
    const bool is_last = verdict.accepted && !verdict.cost_us;
    if (is_last && choice.implementation != nullptr) break;
    if (verdict.accepted) verdict = with_layouts(*candidate, context, std::move(verdict));
    if (!verdict.accepted) {
      refuse_by(*candidate, std::move(verdict.reason));
    } else if (choice.implementation == nullptr || *verdict.cost_us < *choice.verdict.cost_us) {
      if (choice.implementation != nullptr) refuse_by(*choice.implementation, choice.reason());
      choice.implementation = candidate;
      choice.verdict = std::move(verdict);
      if (is_last) break;
    } else {
      refuse_by(*candidate, with_cost(verdict));
    }
  }
  return choice;
}

}  // namespace halftone::runtime

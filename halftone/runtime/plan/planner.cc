// SPDX-License-Identifier: Apache-2.0
// Turns a graph into a plan.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/plan/choose.h"
#include "halftone/runtime/plan/memory_layout.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/runtime/plan/prepare.h"

namespace halftone::runtime {
namespace {

void check_options(const PlanOptions& options) {
  constexpr int kMaxThreads = 1024;
  if (options.batch < 1) fail(ErrorKind::kUsage, "batch: expected at least 1, found 0");
  if (options.threads < 1 || options.threads > kMaxThreads) {
    fail(ErrorKind::kUsage, "threads of a plan: expected 1 to " + std::to_string(kMaxThreads) +
                                ", found " + std::to_string(options.threads));
  }
}

void check_inputs(const ir::Graph& graph) {
  for (const ir::ValueId id : graph.inputs()) {
    const ir::Value& value = graph.value(id);
    if (!value.type.encoding.is_dense()) {
      fail(ErrorKind::kUnsupported,
           "input '" + value.name + "': expected dense elements, found " + value.type.to_string());
    }
  }
}

/// Estimates are not measurements: a tenth more is no difference.
constexpr double kSlower = 1.1;

std::string why_slow(const Verdict& verdict) {
  if (!verdict.speed || verdict.speed->us <= kSlower * verdict.speed->float_us) return {};
  const auto digits = [](double us) { return fmt::format("{:.{}f}", us, us < 10 ? 2 : 0); };
  return fmt::format("on this processor it takes about {} us, float32 {} us",
                     digits(verdict.speed->us), digits(verdict.speed->float_us));
}

Step make_step(const NodeContext& context, ir::NodeId id) {
  const ir::Node& node = context.node;
  Choice choice = choose(context);
  if (choice.implementation == nullptr) {
    fail(ErrorKind::kInternal, ir::describe(node) + ": no implementation takes it");
  }
  Step step;
  step.node = id;
  step.name = node.name;
  step.op = std::string(ir::name_of(node.op));
  step.kernel = std::string(choice.implementation->name);
  step.arithmetic = choice.implementation->arithmetic;
  step.reason = choice.reason();
  step.slow = why_slow(choice.verdict);
  step.refused = std::move(choice.refused);
  step.body =
      with_context(ir::describe(node), [&] { return choice.implementation->create(context); });
  return step;
}

std::vector<Step> make_steps(const Prepared& prepared, const PlanOptions& options) {
  const OneDnnThreads guard(options.threads);
  const auto& [graph, layouts] = prepared;
  std::vector<Step> steps;
  for (const ir::NodeId id : graph.topological_order()) {
    steps.push_back(make_step(context_of(graph, graph.node(id), options, layouts), id));
  }
  return steps;
}

/// Releases the constants that kernels have packed.
void release_packed_constants(ir::Graph& graph, std::span<const Step> steps) {
  std::vector<std::size_t> packed(graph.num_values());
  for (const Step& step : steps) {
    const std::vector<ir::ValueId>& inputs = graph.node(step.node).inputs;
    for (const std::size_t i : step.body.packed_inputs) {
      if (i < inputs.size() && inputs[i] != ir::kAbsent) {
        ++packed[static_cast<std::size_t>(inputs[i])];
      }
    }
  }
  for (std::size_t v = 0; v < packed.size(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    if (packed[v] != 0 && packed[v] == graph.num_uses(id)) graph.release_constant(id);
  }
}

}  // namespace

std::shared_ptr<const Plan> make_plan(ir::Graph graph, const PlanOptions& options) {
  check_options(options);
  Prepared prepared = prepare(std::move(graph), options);
  check_inputs(prepared.graph);
  Plan::Parts parts;
  parts.options = options;
  parts.steps = make_steps(prepared, options);
  parts.graph = std::move(prepared.graph);
  release_packed_constants(parts.graph, parts.steps);
  lay_out_memory(prepared.layouts, parts);
  return std::make_shared<const Plan>(std::move(parts));
}

}  // namespace halftone::runtime

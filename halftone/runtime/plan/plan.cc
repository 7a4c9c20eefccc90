// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/stages.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/ir/verify.h"
#include "halftone/ir/work.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/plan/device_steps.h"
#include "halftone/runtime/plan/planner.h"
#include "halftone/runtime/plan/tuning.h"

namespace halftone::runtime {
namespace {

void check_options(const PlanSettings& options) {
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

/// Threads for oneDNN, which wakes all it is given even for a microsecond's work.
int onednn_threads(const NodeContext& context) {
  constexpr double kFloatProductUs = 25e-6;  // as float_conv_us()
  constexpr double kElementUs = 500e-6;
  const std::size_t elements =
      context.input(0).shape.element_count() + context.output().shape.element_count();
  const double products = ir::work_of(context.graph, context.node).products();
  const double us = kFloatProductUs * products + kElementUs * static_cast<double>(elements);
  return static_cast<int>(worthwhile_threads(us, context.threads));
}

/// Only a layer with the attribute may find no kernel: the rule says what kernels compute.
[[noreturn]] void fail_choice(const NodeContext& context) {
  const std::string node = ir::describe(context.node);
  if (!context.arithmetic) fail(ErrorKind::kInternal, node + ": no implementation takes it");
  const auto reason = ir::why_not(*context.arithmetic, context.graph, context.node);
  fail(ErrorKind::kUnsupported, node + ": arithmetic " +
                                    std::string(to_string(*context.arithmetic)) +
                                    ": no kernel computes it: " + reason.value_or("none accepts") +
                                    "; quantize the layer with the arithmetic auto");
}

/// The kernel of an implementation, or the one that the options create in its place.
Kernel create_kernel(const Implementation& implementation, const NodeContext& context,
                     const PlanSettings& options, PlanStep& step) {
  if (implementation.arithmetic == KernelArithmetic::kBits && options.execution.bit_layers) {
    if (auto kernel = options.execution.bit_layers(context)) {
      step.kernel = kernel->variant;
      return std::move(*kernel);
    }
  }
  Tuning* tuning = options.execution.tuning.get();
  if (tuning != nullptr) step.measured = fastest_method(implementation, context, *tuning);
  return implementation.create(step.measured ? with_method(context, step.measured->way) : context);
}

PlanStep make_step(const NodeContext& context, ir::NodeId id, const PlanSettings& options) {
  const ir::Node& node = context.node;
  Choice choice = choose(context);
  if (choice.implementation == nullptr) fail_choice(context);
  PlanStep step;
  step.node = id;
  step.inputs = node.inputs;
  step.output = node.output;
  step.name = node.name;
  step.op = std::string(ir::name_of(node.op));
  step.kernel = std::string(choice.implementation->name);
  step.arithmetic = choice.implementation->arithmetic;
  step.reason = choice.reason();
  step.slow = why_slow(choice.verdict);
  step.refused = std::move(choice.refused);
  const bool is_onednn = choice.implementation->arithmetic == KernelArithmetic::kFastestFloat;
  step.threads = is_onednn ? onednn_threads(context) : context.threads;
  const OneDnnThreads guard(step.threads);
  step.body = with_context(ir::describe(node), [&] {
    return create_kernel(*choice.implementation, context, options, step);
  });
  return step;
}

/// A node with the conversions of codes around it.
PlanStep make_fused_step(NodeContext context, const CodeFusion& fusion,
                         const PlanSettings& options) {
  context.fused = &fusion.codes;
  PlanStep step;
  if (!std::holds_alternative<ir::Binary>(context.node.op)) {
    step = make_step(context, fusion.node, options);
  } else {
    step.node = fusion.node;
    step.name = context.node.name;
    step.op = std::string(ir::name_of(context.node.op));
    const bool is_table = fusion.codes.requantize != nullptr;
    step.kernel = is_table ? "table_of_pairs" : "rows_of_codes";
    step.reason = is_table ? "integers of codes" : "between codes of one type";
    step.threads = context.threads;
    step.body = is_table ? create_pair_table(context) : create_binary_codes(context);
  }
  step.inputs = fusion.inputs;
  step.output = fusion.output;
  return step;
}

std::vector<PlanStep> make_steps(const Prepared& prepared, const PlanSettings& options) {
  const auto& [graph, layouts] = prepared;
  const CodeFusions fused = find_code_fusions(graph, options, layouts);
  std::vector<PlanStep> steps;
  const std::vector<ir::NodeId> order = graph.topological_order();
  for (const ir::NodeId id : order) {
    if (fused.absorbed.contains(id)) continue;
    if (options.execution.tuning != nullptr) {
      const auto done = static_cast<double>(steps.size()) / static_cast<double>(order.size());
      options.execution.tuning->report(done, "measuring " + graph.node(id).name);
    }
    const NodeContext context = context_of(graph, graph.node(id), options, layouts);
    const auto fusion = std::ranges::find(fused.fusions, id, &CodeFusion::node);
    const bool is_fused = fusion != fused.fusions.end();
    steps.push_back(is_fused ? make_fused_step(context, *fusion, options)
                             : make_step(context, id, options));
    if (options.execution.device == nullptr) continue;
    NodeContext with_codes = context;
    if (is_fused) with_codes.fused = &fusion->codes;
    choose_device(*options.execution.device, with_codes, steps.back());
  }
  if (options.execution.device != nullptr) keep_worthwhile_runs(graph, steps);
  return steps;
}

/// Releases the constants that kernels have packed.
void release_packed_constants(ir::Graph& graph, std::span<const PlanStep> steps) {
  std::vector<std::size_t> packed(graph.num_values());
  for (const PlanStep& step : steps) {
    const std::vector<ir::ValueId>& inputs = step.inputs;
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

/// Releases the constants of bodies, which have plans of their own.
void release_bodies(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::Loop>(node.op)) continue;
    auto loop = std::get<ir::Loop>(node.op);
    auto body = std::make_shared<ir::Graph>(*loop.body);
    release_bodies(*body);
    for (std::size_t v = 0; v < body->num_values(); ++v) {
      body->release_constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    }
    loop.body = std::move(body);
    graph.replace_node(id, std::move(loop), node.inputs);
  }
}

}  // namespace

std::size_t Plan::constant_bytes() const {
  std::size_t sum = 0;
  for (std::size_t v = 0; v < graph().num_values(); ++v) {
    const ir::Constant* constant = graph().constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const auto* codes = std::get_if<ir::EncodedTensor>(constant);
    sum += codes != nullptr ? codes->codes.planes.words().size_bytes() : storage_bytes(*constant);
  }
  return sum;
}

std::size_t Plan::bytes_of(std::span<const ir::ValueId> values) const {
  std::size_t sum = 0;
  for (const ir::ValueId value : values) sum += storage(value).bytes;
  return sum;
}

std::size_t Plan::device_constant_bytes() const {
  std::size_t sum = 0;
  for (const PlanStep& step : steps()) {
    if (step.device != nullptr) sum += step.device->constant_bytes();
  }
  return sum;
}

std::size_t Plan::packed_weight_bytes() const {
  std::size_t sum = 0;
  for (const PlanStep& step : steps()) sum += step.body.packed_bytes;
  return sum;
}

std::size_t Plan::weight_bytes_of_run() const {
  std::size_t sum = packed_weight_bytes();
  for (const PlanStep& step : steps()) sum -= step.body.idle_bytes;
  return sum;
}

namespace {

Plan::Parts planned(ir::Graph graph, const PlanSettings& options) {
  Prepared prepared = prepare(std::move(graph), options);
  check_inputs(prepared.graph);
  Plan::Parts parts;
  parts.options = options;
  parts.steps = make_steps(prepared, options);
  parts.graph = std::move(prepared.graph);
  release_packed_constants(parts.graph, parts.steps);
  release_bodies(parts.graph);
  // What lies on a device follows from the steps before, so they must all run.
  if (options.execution.device == nullptr) guard_branches(parts);
  lay_out_memory(prepared.layouts, parts);
  if (options.execution.device != nullptr) find_copies(parts);
  return parts;
}

}  // namespace

std::shared_ptr<const Plan> make_plan(ir::Graph graph, const PlanSettings& options) {
  check_options(options);
  if (!graph.definitions().empty()) {
    ir::verify(graph);
    ir::fill_in_batch(graph, options.batch);
    graph.remove_unused_nodes();
  }
  if (graph.definitions().empty()) {
    return std::make_shared<const Plan>(planned(std::move(graph), options));
  }
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  ir::Stages stages = ir::split_stages(std::move(graph), ir::HandOver::kDense);
  Plan::Parts parts = planned(std::move(stages.first), options);
  parts.outputs = std::move(outputs);
  parts.rest =
      std::make_shared<const PlanRest>(PlanRest{std::move(stages.rest), std::move(stages.defined)});
  return std::make_shared<const Plan>(std::move(parts));
}

}  // namespace halftone::runtime

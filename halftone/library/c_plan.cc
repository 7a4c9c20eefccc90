// SPDX-License-Identifier: Apache-2.0
#include "halftone/library/c_plan.h"

#include <optional>

#include "halftone/api/network.h"
#include "halftone/api/network_device.h"
#include "halftone/base/memory.h"
#include "halftone/library/c_status.h"

namespace halftone::library {
namespace {

/// The graph for the shapes that the options give inputs.
/// @throws Error kUsage if the model has no such input or leaves nothing open; else as
/// with_shapes()
ir::Graph sized_graph(const ModelState& model, const halftone_plan_options& options) {
  const auto shapes = shapes_of(options.shapes, options.num_shapes);
  if (!model.open && shapes.empty()) return model.graph;
  if (!model.open) {
    fail(ErrorKind::kUsage, "shapes: the model leaves no extents open beside the batch");
  }
  std::vector<std::optional<ir::Shape>> found;
  std::size_t used = 0;
  for (const ir::ValueId id : model.graph.untied(model.graph.inputs())) {
    const auto given = shapes.find(model.graph.value(id).name);
    const bool is_given = given != shapes.end();
    used += is_given ? 1 : 0;
    found.push_back(is_given ? std::optional(given->second) : std::nullopt);
  }
  if (used != shapes.size()) fail(ErrorKind::kUsage, "shapes: the model has no such input");
  return prepared(with_shapes(*model.open, found), Purpose::kRun);
}

/// @throws Error kUsage if an option is out of range; kMemory beyond the limit of the context; else
///         as runtime::make_plan()
std::shared_ptr<const Plan> make_plan(const ModelState& model,
                                      const halftone_plan_options& options) {
  ThreadSettings settings = model.context->settings;
  if (options.threads < 0 || options.threads > settings.threads) {
    fail(ErrorKind::kUsage, "threads: expected 0 to " + std::to_string(settings.threads) +
                                ", those of the context, found " + std::to_string(options.threads));
  }
  if (options.float_order != HALFTONE_FASTEST && options.float_order != HALFTONE_FIXED_ORDER) {
    fail(ErrorKind::kUsage,
         "float_order: expected HALFTONE_FASTEST (0) or HALFTONE_FIXED_ORDER (1), found " +
             std::to_string(options.float_order));
  }
  if (options.threads != 0) settings.threads = options.threads;
  const UseThreadSettings use(settings);
  runtime::PlanSettings how;
  const auto batch = options.batch == 0 ? std::nullopt : std::optional(options.batch);
  ir::Graph graph = sized_graph(model, options);
  how.batch = batch_of(graph, batch);
  how.threads = settings.threads;
  how.execution.int8_activations = options.float_activations == 0;
  if (options.float_order == HALFTONE_FIXED_ORDER) {
    how.execution.float_order = runtime::FloatOrder::kFixed;
  }
  if (options.device != nullptr) how.execution.device = network_device(options.device);
  how.execution.tuning = model.context->tuning;
  std::unique_lock lock(model.context->tuning_mutex, std::defer_lock);
  if (how.execution.tuning != nullptr) lock.lock();
  auto plan = runtime::make_plan(std::move(graph), how);
  require_memory(plan->packed_weight_bytes() + plan->constant_bytes(), "weights of a plan");
  const Ports inputs(plan->graph(), plan->inputs());
  const Ports outputs(plan->graph(), plan->outputs());
  std::vector<std::string> arithmetics;
  for (const runtime::PlanStep& step : plan->steps()) {
    const std::string_view text = runtime::text_of(step.arithmetic);
    arithmetics.emplace_back(text.substr(0, text.find(':')));
  }
  return std::make_shared<const Plan>(Plan{model.context, settings, model.open, std::move(plan),
                                           inputs, outputs, std::move(arithmetics)});
}

}  // namespace
}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

halftone_status halftone_plan_create(const halftone_model* model,
                                     const halftone_plan_options* options,
                                     halftone_plan** plan) noexcept {
  return guarded([&] {
    halftone_plan*& result = required(plan, "plan");
    const ModelState& state = *required(model, "model").state;
    result = give(halftone_plan{library::make_plan(state, known(options, "options"))});
  });
}

void halftone_plan_destroy(halftone_plan* plan) noexcept { take_back(plan); }

size_t halftone_plan_num_inputs(const halftone_plan* plan) noexcept {
  return plan == nullptr ? 0 : plan->state->inputs.size();
}

size_t halftone_plan_num_outputs(const halftone_plan* plan) noexcept {
  return plan == nullptr ? 0 : plan->state->outputs.size();
}

halftone_status halftone_plan_input(const halftone_plan* plan, size_t index,
                                    halftone_tensor_info* info) noexcept {
  return guarded([&] { required(plan, "plan").state->inputs.describe(index, "input", info); });
}

halftone_status halftone_plan_output(const halftone_plan* plan, size_t index,
                                     halftone_tensor_info* info) noexcept {
  return guarded([&] { required(plan, "plan").state->outputs.describe(index, "output", info); });
}

size_t halftone_plan_weight_bytes(const halftone_plan* plan) noexcept {
  if (plan == nullptr) return 0;
  return plan->state->plan->packed_weight_bytes() + plan->state->plan->constant_bytes();
}

size_t halftone_plan_session_bytes(const halftone_plan* plan) noexcept {
  return plan == nullptr ? 0 : plan->state->plan->arena_bytes();
}

size_t halftone_plan_num_steps(const halftone_plan* plan) noexcept {
  return plan == nullptr ? 0 : plan->state->plan->steps().size();
}

halftone_status halftone_plan_step(const halftone_plan* plan, size_t index,
                                   halftone_step_info* info) noexcept {
  return guarded([&] {
    const library::Plan& state = *required(plan, "plan").state;
    halftone_step_info& result = required(info, "info");
    const auto steps = state.plan->steps();
    if (index >= steps.size()) {
      fail(ErrorKind::kUsage, "step: expected an index below " + std::to_string(steps.size()) +
                                  ", found " + std::to_string(index));
    }
    const runtime::PlanStep& step = steps[index];
    result = {step.name.c_str(), step.op.c_str(), step.kernel.c_str(),
              state.arithmetics[index].c_str(), step.reason.c_str()};
  });
}

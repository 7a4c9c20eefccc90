// SPDX-License-Identifier: Apache-2.0
#include "halftone/run.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "halftone/api/estimate.h"
#include "halftone/api/measure.h"
#include "halftone/api/run.h"
#include "halftone/api/sized_sessions.h"
#include "halftone/base/memory.h"
#include "halftone/base/thread_settings.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

struct Plan::State {
  Network network;
  ThreadSettings settings;
  std::shared_ptr<const runtime::Plan> plan;
};

struct Session::State {
  State(const Network& network, const ThreadSettings& the_settings, runtime::PlanSettings how)
      : name(network.name), settings(the_settings), sessions(network, std::move(how)) {}

  std::string name;
  ThreadSettings settings;
  SizedSessions sessions;
  std::atomic<bool> used{false};
};

namespace {

runtime::PlanSettings plan_settings(const ThreadSettings& settings, const PlanOptions& options) {
  return {std::max<std::size_t>(options.batch, 1), settings.threads,
          execution_options(options.execution)};
}

std::vector<Port> plan_ports(const runtime::Plan& plan, std::span<const ir::ValueId> ids) {
  std::vector<Port> ports;
  for (const ir::ValueId id : ids) ports.push_back(port_of(plan.graph().value(id)));
  return ports;
}

std::vector<Step> steps_of(const runtime::Plan& plan) {
  std::vector<Step> steps;
  for (const runtime::PlanStep& step : plan.steps()) {
    const std::string_view arithmetic = runtime::text_of(step.arithmetic);
    steps.push_back({step.name, step.op, step.kernel,
                     std::string(arithmetic.substr(0, arithmetic.find(':'))), step.reason});
  }
  return steps;
}

std::string type_text(Type type, std::span<const std::size_t> shape) {
  std::string text(to_string(type));
  text += "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  }
  return text + "]";
}

Extents extents_of(const ir::Value& value) {
  const auto dims = value.type.shape.dims();
  return {dims.begin(), dims.end()};
}

void check_type(const ir::Value& wanted, const Tensor& found) {
  const Extents extents = extents_of(wanted);
  const auto type = static_cast<Type>(wanted.type.encoding.element);
  if (type == found.type()) return;
  fail(halftone::ErrorKind::kShape, "input '" + wanted.name + "': expected " +
                                        type_text(type, extents) + ", found " +
                                        type_text(found.type(), found.shape()));
}

}  // namespace

Plan::Plan(const Model& model, const PlanOptions& options) {
  at_border([&] {
    const Network& network = Internals::network(model);
    const ThreadSettings settings = settings_for(options.resources);
    const UseThreadSettings use(settings);
    with_context(network.name, [&] {
      const ir::Graph graph = prepared(network, Purpose::kRun);
      const auto wanted = options.batch == 0 ? std::nullopt : std::optional(options.batch);
      auto plan = runtime::make_plan(
          graph, {batch_of(graph, wanted), settings.threads, execution_options(options.execution)});
      require_memory(plan->packed_weight_bytes() + plan->constant_bytes(), "weights of a plan");
      state_ = std::make_shared<const State>(State{network, settings, std::move(plan)});
    });
  });
}

std::vector<Port> Plan::inputs() const { return plan_ports(*state_->plan, state_->plan->inputs()); }

std::vector<Port> Plan::outputs() const {
  return plan_ports(*state_->plan, state_->plan->outputs());
}

std::vector<Step> Plan::steps() const { return steps_of(*state_->plan); }

Session::Session(const Plan& plan) {
  at_border([&] {
    const Plan::State& state = *plan.state_;
    const UseThreadSettings use(state.settings);
    state_ = std::make_unique<State>(state.network, state.settings, state.plan->options());
    state_->sessions.add(state.plan);
  });
}

Session::Session(const Model& model, const PlanOptions& options) {
  const bool open = at_border([&] { return is_open(Internals::network(model)); });
  if (!open) {
    *this = Session(Plan(model, options));
    return;
  }
  at_border([&] {
    const ThreadSettings settings = settings_for(options.resources);
    state_ = std::make_unique<State>(Internals::network(model), settings,
                                     plan_settings(settings, options));
  });
}

Session::~Session() = default;
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;

std::vector<Tensor> Session::run(std::span<const Tensor> inputs) {
  std::vector<Extents> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  resize(shapes);
  return at_border([&] {
    const runtime::Plan& plan = state_->sessions.last().plan();
    std::vector<std::span<const std::byte>> sources;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check_type(plan.graph().value(plan.inputs()[i]), inputs[i]);
      sources.push_back(inputs[i].bytes());
    }
    std::vector<Tensor> results;
    for (const ir::ValueId id : plan.outputs()) {
      const ir::Value& value = plan.graph().value(id);
      const bool is_known = value.type.shape.is_static();
      results.emplace_back(static_cast<Type>(value.type.encoding.element),
                           is_known ? extents_of(value) : Extents{0});
    }
    std::vector<std::span<std::byte>> destinations;
    for (Tensor& result : results) destinations.push_back(result.bytes());
    run(sources, destinations);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (plan.graph().value(plan.outputs()[i]).type.shape.is_static()) continue;
      results[i] = to_public(state_->sessions.last().output_tensor(i));
    }
    return results;
  });
}

void Session::resize(std::span<const Extents> inputs) {
  at_border([&] {
    const ExclusiveUse only(state_->used, "session");
    const UseThreadSettings use(state_->settings);
    std::vector<ir::Shape> shapes;
    for (const Extents& extents : inputs) {
      shapes.emplace_back(std::vector<ir::Dim>(extents.begin(), extents.end()));
    }
    state_->sessions.at(shapes);
  });
}

void Session::reset() {
  at_border([&] {
    const ExclusiveUse only(state_->used, "session");
    state_->sessions.reset();
  });
}

void Session::run(std::span<const std::span<const std::byte>> inputs,
                  std::span<const std::span<std::byte>> outputs) {
  at_border([&] {
    const ExclusiveUse only(state_->used, "session");
    const UseThreadSettings use(state_->settings);
    with_context(state_->name, [&] { state_->sessions.last().run(inputs, outputs); });
  });
}

std::vector<Tensor> run(const Model& model, std::span<const Tensor> inputs,
                        const PlanOptions& options) {
  return at_border([&] {
    const ThreadSettings settings = settings_for(options.resources);
    const UseThreadSettings use(settings);
    std::vector<ir::Tensor> sources;
    for (const Tensor& input : inputs) sources.push_back(to_internal(input));
    std::vector<Tensor> results;
    for (const ir::Tensor& result :
         halftone::run(Internals::network(model), sources,
                       {settings.threads, execution_options(options.execution)})) {
      results.push_back(to_public(result));
    }
    return results;
  });
}

Measurement measure(const Model& model, const MeasureOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        std::optional<accel::Accelerator> hardware;
        if (!options.accelerator.empty()) hardware = accelerator_of(options.accelerator);
        halftone::TimingSettings how;
        how.batch = options.batch;
        how.min_seconds = options.seconds;
        how.execution = execution_options(options.execution);
        how.progress = sink_of(options.progress, raised);
        halftone::MeasuredPlan found = halftone::measure(Internals::network(model), how);
        Measurement result;
        result.batch = found.profile.batch;
        result.runs = found.profile.runs;
        result.median_us = found.profile.median_us;
        result.p10_us = found.profile.p10_us;
        result.p99_us = found.profile.p99_us;
        result.steps = steps_of(*found.plan);
        result.step_us = std::move(found.profile.step_median_us);
        if (hardware) {
          PredictedTimes predicted = predict(*found.plan, *hardware);
          result.predicted_us = predicted.run_us;
          result.predicted_step_us = std::move(predicted.step_us);
        }
        return result;
      },
      {&raised});
}

}  // namespace halftone::v0

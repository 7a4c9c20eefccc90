// SPDX-License-Identifier: Apache-2.0
// Sessions of the C API.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/api/sized_sessions.h"
#include "halftone/base/thread_settings.h"
#include "halftone/library/c_plan.h"
#include "halftone/library/c_status.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::library {
struct Session {
  explicit Session(std::shared_ptr<const Plan> the_plan)
      : plan(std::move(the_plan)),
        sessions(plan->open.value_or(Network(ir::Graph())), plan->plan->options()),
        in(plan->inputs.size()),
        out(plan->outputs.size()),
        step_ns(plan->plan->steps().size()) {
    sessions.add(plan->plan);
  }

  /// @throws Error as runtime::Session::run()
  void run(std::span<const halftone_input> inputs, std::span<const halftone_output> outputs);
  void profile(bool on);
  /// @throws Error kUsage if there is no such input; else as SizedSessions::at()
  void resize(const std::map<std::string, ir::Shape>& shapes);
  /// An output of the last run. @throws Error kUsage if there is none, or before a run
  [[nodiscard]] ir::Tensor output(std::size_t index);
  /// The type of an output, also before a run if it does not depend on data. @throws as output()
  [[nodiscard]] ir::ValueType output_type(std::size_t index);

  std::shared_ptr<const Plan> plan;
  SizedSessions sessions;
  std::vector<std::span<const std::byte>> in;
  std::vector<std::span<std::byte>> out;
  std::vector<std::uint64_t> step_ns;
  std::optional<Ports> found;  ///< the output that was asked for last
  bool has_run = false;
  bool observed = false;  ///< whether an observer was added
  bool profiles = false;
  std::atomic<bool> used{false};
};

void Session::run(std::span<const halftone_input> inputs,
                  std::span<const halftone_output> outputs) {
  in.resize(inputs.size());
  out.resize(outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes != 0) required(static_cast<const char*>(inputs[i].data), "inputs.data");
    in[i] = {static_cast<const std::byte*>(inputs[i].data), inputs[i].bytes};
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].bytes != 0) required(static_cast<char*>(outputs[i].data), "outputs.data");
    out[i] = {static_cast<std::byte*>(outputs[i].data), outputs[i].bytes};
  }
  const UseThreadSettings use(plan->settings);
  sessions.last().run(in, out);
  has_run = true;
}

void Session::resize(const std::map<std::string, ir::Shape>& shapes) {
  if (shapes.empty()) return;
  if (!plan->open) {
    fail(ErrorKind::kUsage, "shapes: the model leaves no extents open beside the batch");
  }
  const runtime::Plan& now = sessions.last().plan();
  std::vector<ir::Shape> wanted;
  std::size_t found_inputs = 0;
  for (const ir::ValueId id : now.inputs()) {
    const ir::Value& input = now.graph().value(id);
    const auto given = shapes.find(input.name);
    wanted.push_back(given == shapes.end() ? input.type.shape : given->second);
    if (given != shapes.end()) ++found_inputs;
  }
  if (found_inputs != shapes.size()) fail(ErrorKind::kUsage, "shapes: the model has no such input");
  const UseThreadSettings use(plan->settings);
  std::unique_lock lock(plan->context->tuning_mutex, std::defer_lock);
  if (plan->context->tuning != nullptr) lock.lock();
  const runtime::Plan& next = sessions.at(wanted).plan();
  has_run = has_run && &next == &now;
  if (&next == &now) return;
  step_ns.assign(next.steps().size(), 0);
  profiles = observed = false;
}

ir::ValueType Session::output_type(std::size_t index) {
  const runtime::Plan& now = sessions.last().plan();
  if (index >= now.outputs().size()) return output(index).type();
  const ir::ValueType& type = now.graph().value(now.outputs()[index]).type;
  return type.shape.is_static() ? type : output(index).type();
}

ir::Tensor Session::output(std::size_t index) {
  if (index >= plan->plan->outputs().size()) {
    fail(ErrorKind::kUsage, "output: expected an index below " +
                                std::to_string(plan->plan->outputs().size()) + ", found " +
                                std::to_string(index));
  }
  if (!has_run) fail(ErrorKind::kUsage, "output: expected a run before");
  return sessions.last().output_tensor(index);
}

void Session::profile(bool on) {
  profiles = on;
  if (!on || observed) return;
  observed = true;
  sessions.last().add_observer([this](const runtime::StepEvent& event) {
    if (!profiles) return;
    const auto time = std::chrono::nanoseconds(event.stop - event.start);
    step_ns[event.step] = static_cast<std::uint64_t>(time.count());
  });
}

}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

struct halftone_session {
  std::unique_ptr<library::Session> state;
};

halftone_status halftone_session_create(const halftone_plan* plan,
                                        halftone_session** session) noexcept {
  return guarded([&] {
    halftone_session*& result = required(session, "session");
    const std::shared_ptr<const library::Plan>& state = required(plan, "plan").state;
    const UseThreadSettings use(state->settings);
    result = give(halftone_session{std::make_unique<library::Session>(state)});
  });
}

void halftone_session_destroy(halftone_session* session) noexcept { take_back(session); }

halftone_status halftone_session_run(halftone_session* session, const halftone_input* inputs,
                                     size_t num_inputs, const halftone_output* outputs,
                                     size_t num_outputs) noexcept {
  return guarded([&] {
    library::Session& state = *required(session, "session").state;
    const ExclusiveUse use(state.used, "session");
    if (num_inputs != 0) required(inputs, "inputs");
    if (num_outputs != 0) required(outputs, "outputs");
    state.run({inputs, num_inputs}, {outputs, num_outputs});
  });
}

halftone_status halftone_session_output(halftone_session* session, size_t index,
                                        halftone_tensor_info* info) noexcept {
  return guarded([&] {
    library::Session& state = *required(session, "session").state;
    const ExclusiveUse use(state.used, "session");
    const ir::ValueType type = state.output_type(index);
    const runtime::Plan& plan = *state.plan->plan;
    ir::Graph one;  // a value of the shape that was found
    const auto id = one.add_input(plan.graph().value(plan.outputs()[index]).name, type);
    state.found.emplace(one, std::span(&id, 1));
    state.found->describe(0, "output", info);
  });
}

halftone_status halftone_session_read(halftone_session* session, size_t index,
                                      const halftone_output* output) noexcept {
  return guarded([&] {
    library::Session& state = *required(session, "session").state;
    const ExclusiveUse use(state.used, "session");
    const halftone_output& to = required(output, "output");
    const ir::Tensor found = state.output(index);
    if (to.bytes != found.bytes().size()) {
      fail(ErrorKind::kShape, "output: expected " + std::to_string(found.bytes().size()) +
                                  " bytes, found " + std::to_string(to.bytes));
    }
    if (to.bytes == 0) return;
    required(static_cast<char*>(to.data), "output.data");
    std::ranges::copy(found.bytes(), static_cast<std::byte*>(to.data));
  });
}

halftone_status halftone_session_resize(halftone_session* session,
                                        const halftone_input_shape* shapes,
                                        size_t num_shapes) noexcept {
  return guarded([&] {
    library::Session& state = *required(session, "session").state;
    const ExclusiveUse use(state.used, "session");
    if (num_shapes != 0) required(shapes, "shapes");
    state.resize(shapes_of(shapes, num_shapes));
  });
}

halftone_status halftone_session_reset(halftone_session* session) noexcept {
  return guarded([&] {
    library::Session& state = *required(session, "session").state;
    const ExclusiveUse use(state.used, "session");
    state.sessions.reset();
  });
}

halftone_status halftone_session_profile(halftone_session* session, int on) noexcept {
  return guarded([&] {
    library::Session& state = *required(session, "session").state;
    const ExclusiveUse use(state.used, "session");
    state.profile(on != 0);
  });
}

halftone_status halftone_session_step_time(const halftone_session* session, size_t step,
                                           uint64_t* nanoseconds) noexcept {
  return guarded([&] {
    const library::Session& state = *required(session, "session").state;
    std::uint64_t& result = required(nanoseconds, "nanoseconds");
    if (step >= state.step_ns.size()) {
      fail(ErrorKind::kUsage, "step: expected an index below " +
                                  std::to_string(state.step_ns.size()) + ", found " +
                                  std::to_string(step));
    }
    result = state.step_ns[step];
  });
}

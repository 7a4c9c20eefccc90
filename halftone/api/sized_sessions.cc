// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sized_sessions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone {
namespace {

/// The samples that shapes show; those of `otherwise` if the network has no open batch.
std::size_t samples_of(const ir::Graph& graph, std::span<const ir::Shape> inputs,
                       std::size_t otherwise) {
  const std::vector<ir::ValueId> given = graph.untied(graph.inputs());
  for (std::size_t i = 0; i < std::min(given.size(), inputs.size()); ++i) {
    const ir::Shape& wanted = graph.value(given[i]).type.shape;
    for (std::size_t axis = 0; axis < std::min(wanted.rank(), inputs[i].rank()); ++axis) {
      if (wanted[axis] == ir::kBatch) return static_cast<std::size_t>(inputs[i][axis]);
    }
  }
  return otherwise;
}

}  // namespace

SizedSessions::SizedSessions(Network network, runtime::PlanSettings how,
                             std::uint64_t max_idle_bytes)
    : network_(std::move(network)), how_(std::move(how)), sessions_(max_idle_bytes) {}

runtime::Session& SizedSessions::at(std::span<const ir::Shape> inputs) {
  const std::size_t expected = network_.graph.untied(network_.graph.inputs()).size();
  if (inputs.size() != expected) {
    fail(ErrorKind::kShape, network_.name + ": expected " + std::to_string(expected) +
                                " inputs, found " + std::to_string(inputs.size()));
  }
  if (runtime::Session* known = sessions_.find(inputs)) return *known;
  return add({inputs.begin(), inputs.end()}, plan(inputs));
}

runtime::Session& SizedSessions::last() {
  if (runtime::Session* last = sessions_.last()) return *last;
  fail(ErrorKind::kUsage, network_.name +
                              ": expected the shapes of inputs before a run on memory, "
                              "since the network leaves extents open");
}

void SizedSessions::add(std::shared_ptr<const runtime::Plan> plan) {
  std::vector<ir::Shape> shapes;
  for (const ir::ValueId id : plan->inputs()) {
    shapes.push_back(plan->graph().value(id).type.shape);
  }
  add(std::move(shapes), std::move(plan));
}

runtime::Session& SizedSessions::add(std::vector<ir::Shape> shapes,
                                     std::shared_ptr<const runtime::Plan> plan) {
  runtime::Session& session = sessions_.add(std::move(shapes), std::move(plan), states_);
  states_ = session.states();
  return session;
}

std::shared_ptr<const runtime::Plan> SizedSessions::plan(std::span<const ir::Shape> inputs) const {
  const std::vector<std::optional<ir::Shape>> shapes(inputs.begin(), inputs.end());
  const ir::Graph graph = is_open(network_) ? prepared(with_shapes(network_, shapes), Purpose::kRun)
                                            : prepared(network_, Purpose::kRun);
  runtime::PlanSettings how = how_;
  how.batch = samples_of(graph, inputs, how_.batch);
  auto plan = with_context(network_.name, [&] { return runtime::make_plan(graph, how); });
  for (std::size_t i = 0; i < plan->inputs().size(); ++i) {
    const ir::Value& input = plan->graph().value(plan->inputs()[i]);
    if (input.type.shape == inputs[i]) continue;
    fail(ErrorKind::kShape, network_.name + ": input '" + input.name + "': expected " +
                                input.type.shape.to_string() + ", found " + inputs[i].to_string());
  }
  return plan;
}

void SizedSessions::reset() {
  if (states_ != nullptr) states_->clear();
}

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/map.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/spmd/device_state.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/program.h"

namespace halftone::spmd {
namespace internal {
namespace {

using detail::Argument;
using detail::MapKind;
using detail::MapPlan;

std::string name_of(MapKind kind, const MapOptions& options) {
  const std::string name = kind == MapKind::kVmap   ? "vmap"
                           : kind == MapKind::kPmap ? "pmap"
                                                    : "spread";
  return options.axis_name.empty() ? name : name + " '" + options.axis_name + "'";
}

std::string argument_name(std::size_t index) { return "argument " + std::to_string(index); }

/// The number of lanes; all arguments must agree on it.
class LaneCount {
 public:
  void add(std::size_t count, const std::string& source) {
    if (count_ && *count_ != count) {
      fail(ErrorKind::kShape, "number of lanes: " + std::to_string(*count_) + " from " + source_ +
                                  ", " + std::to_string(count) + " from " + source);
    }
    count_ = count;
    source_ = source;
  }
  [[nodiscard]] std::size_t get() const {
    if (!count_) {
      fail(ErrorKind::kUsage, "all in_axes are none; give axis_size");
    }
    if (*count_ == 0) fail(ErrorKind::kShape, source_ + ": expected at least one lane, found 0");
    return *count_;
  }

 private:
  std::optional<std::size_t> count_;
  std::string source_;
};

/// The axis of each argument. @throws Error kUsage if in_axes and the arguments differ in number
std::vector<std::optional<std::size_t>> axes_of(const MapOptions& options, std::size_t count) {
  if (options.in_axes.empty()) return std::vector<std::optional<std::size_t>>(count, 0);
  if (options.in_axes.size() != count) {
    fail(ErrorKind::kUsage, std::to_string(options.in_axes.size()) + " in_axes for " +
                                std::to_string(count) + " arguments");
  }
  return options.in_axes;
}

std::size_t count_lanes(const MapOptions& options, const std::vector<Argument>& arguments,
                        const std::vector<std::optional<std::size_t>>& axes) {
  LaneCount lanes;
  if (options.axis_size) lanes.add(*options.axis_size, "axis_size");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.placement) {
      if (axes[i] != argument.shard_axis.axis) {
        fail(ErrorKind::kUsage, argument_name(i) + " is sharded along axis " +
                                    std::to_string(argument.shard_axis.axis) + ", in_axes says " +
                                    (axes[i] ? std::to_string(*axes[i]) : "none") +
                                    "; gather it first");
      }
      lanes.add(argument.placement->num_lanes, argument_name(i));
    } else if (argument.tree && axes[i]) {
      lanes.add(mapped_extent(*argument.tree, *axes[i], argument_name(i)), argument_name(i));
    }
  }
  return lanes.get();
}

void check_axis_name(const Lane* lane, const std::string& name) {
  for (; lane != nullptr; lane = lane->run->parent) {
    if (!name.empty() && lane->run->axis_name == name) {
      fail(ErrorKind::kUsage, "an enclosing map already uses the axis name '" + name + "'");
    }
  }
}

/// The devices that a map may use.
Devices devices_for(const Lane* lane, const MapOptions& options) {
  const bool in_device = lane != nullptr && !lane->devices.empty();
  if (in_device && !options.devices.empty()) {
    fail(ErrorKind::kUsage, "a map inside a lane uses the devices of the lane; omit the devices");
  }
  const Devices& devices = in_device ? lane->devices : options.devices;
  if (devices.empty()) fail(ErrorKind::kUsage, "no devices; give them in the options");
  return devices;
}

void check_placement(const std::vector<Argument>& arguments, const Placement& placement) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].placement && *arguments[i].placement != placement) {
      fail(ErrorKind::kUsage, argument_name(i) + " is sharded over other devices; gather it first");
    }
  }
}

/// One queue for each device that has lanes of this process.
void make_queues(MapRun& run, std::size_t first, std::size_t count) {
  const Placement& placement = run.placement;
  for (std::size_t lane = first; lane < first + count;) {
    const std::size_t device = placement.device_of(lane);
    LaneQueue& queue = run.queues.emplace_back();
    queue.baton = &baton(placement.devices, device);
    queue.next = lane;
    while (lane < first + count && placement.device_of(lane) == device) ++lane;
    queue.end = lane;
    queue.is_own_device =
        run.parent == nullptr ? run.queues.size() == 1 : queue.baton == run.parent->queue->baton;
  }
}

/// The queue of a map whose lanes run one after another on the caller's device.
void make_single_queue(MapRun& run) {
  LaneQueue& queue = run.queues.emplace_back();
  queue.baton = run.parent == nullptr ? &run.program->host_baton() : run.parent->queue->baton;
  queue.end = run.size;
  queue.is_own_device = true;
}

/// @throws Error kUsage if there are more lanes than devices
void check_num_lanes(const Placement& placement) {
  if (placement.num_lanes <= placement.devices.size()) return;
  fail(ErrorKind::kUsage, std::to_string(placement.num_lanes) + " lanes, but only " +
                              std::to_string(placement.devices.size()) +
                              " devices; use spread() or an inner vmap for more lanes");
}

MapPlan plan_for(MapKind kind, const MapOptions& options, const std::vector<Argument>& arguments) {
  Lane* lane = Lane::current();
  MapPlan plan;
  plan.in_axes = axes_of(options, arguments.size());
  const std::size_t size = count_lanes(options, arguments, plan.in_axes);
  check_axis_name(lane, options.axis_name);

  plan.run = std::make_shared<MapRun>();
  MapRun& run = *plan.run;
  run.parent = lane;
  run.axis_name = options.axis_name;
  run.size = size;
  run.placement.num_lanes = size;
  if (lane != nullptr) {
    run.program = lane->run->program;
    run.outer = lane->run->shared_from_this();
    run.number = lane->num_maps++;
  } else {
    run.program = std::make_shared<Program>(name_of(kind, options) + " of " + std::to_string(size));
  }
  plan.num_local = size;
  if (kind == MapKind::kVmap) {
    make_single_queue(run);
  } else {
    run.placement.devices = devices_for(lane, options);
    if (kind == MapKind::kPmap) check_num_lanes(run.placement);
    check_placement(arguments, run.placement);
    plan.first_local = run.placement.first_local();
    plan.num_local = run.placement.num_local();
    make_queues(run, plan.first_local, plan.num_local);
  }
  run.threads_each = num_threads() / static_cast<int>(std::max<std::size_t>(1, run.queues.size()));
  plan.placement = std::make_shared<Placement>(run.placement);
  return plan;
}

}  // namespace
}  // namespace internal

inline namespace v0 {
namespace detail {

MapPlan make_plan(MapKind kind, const MapOptions& options, const std::vector<Argument>& arguments) {
  return with_context(internal::name_of(kind, options),
                      [&] { return internal::plan_for(kind, options, arguments); });
}

void MapPlan::execute(const std::function<void(std::size_t)>& body) const {
  run->body = &body;
  run->program->run(run);
}

}  // namespace detail
}  // namespace v0
}  // namespace halftone::spmd

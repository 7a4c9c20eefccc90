// SPDX-License-Identifier: Apache-2.0
// The state of a running mapped function: its lanes and their collectives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/spmd/device_state.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/request.h"

namespace halftone::spmd::internal {

class Program;
struct MapRun;

/// Thrown to leave a lane that must stop because another one failed. It is no std::exception, so
/// that functions that handle their own errors do not catch it.
struct Stopped {};

/// The reason why the lanes of a program stop; of several errors, that of the first lane.
struct Failure {
  std::vector<std::size_t> path;  ///< path_of() the lane; empty if no single lane failed
  ErrorKind kind = ErrorKind::kInternal;
  std::string message{};
  Hint hint = Hint::kNone;
  /// What the lane of this process threw, if it reaches the caller as it is.
  std::exception_ptr exception{};
};

/// The lanes [next, end) of one device that have not started.
struct LaneQueue {
  std::mutex* baton = nullptr;  ///< of the device
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
  bool is_own_device =
      false;  ///< whether the calling thread of the map holds or may take this device

  [[nodiscard]] bool has_lanes() const { return next.load() < end; }
};

/// One call of a function for one index of a map.
struct Lane {
  MapRun* run = nullptr;
  LaneQueue* queue = nullptr;  ///< its baton is held while the lane runs
  std::size_t index = 0;
  Devices devices{};         ///< for maps inside the lane; empty outside of pmap
  std::size_t num_maps = 0;  ///< maps that the lane has started

  /// The lane that this thread runs; null outside of maps.
  static Lane*& current();
};

/// One call of a mapped function: a level of the nest.
struct MapRun : std::enable_shared_from_this<MapRun> {
  std::shared_ptr<Program> program;  // shared with helper threads that start after the map's end
  Lane* parent = nullptr;
  /// The map around this one: owns the devices whose batons the queues here refer to, also for
  /// helper threads that start after its end.
  std::shared_ptr<MapRun> outer;
  std::size_t number = 0;  ///< among the maps that the parent, or the program, has started
  std::string axis_name;
  std::size_t size = 0;
  Placement placement;   ///< without devices for a map on one device
  int threads_each = 1;  ///< threads that loops inside a lane may use
  const std::function<void(std::size_t)>* body = nullptr;
  std::deque<LaneQueue> queues;
  // The program's mutex guards the rest.
  std::vector<char> ended;  ///< whether each lane of this process has ended
  std::atomic<std::size_t> num_left{0};
  std::condition_variable all_ended;

  [[nodiscard]] bool spans_ranks() const { return placement.devices.spans_ranks(); }
  /// The devices that maps inside a lane may use.
  [[nodiscard]] Devices devices_of(std::size_t lane) const {
    if (!placement.devices.empty()) return placement.devices_of(lane);
    return parent == nullptr ? Devices() : parent->devices;
  }
};

/// One level of a lane's position: a map around it and the lane's index in that map. Lists of
/// frames have the outermost map first.
struct Frame {
  MapRun* run = nullptr;
  std::size_t index = 0;
};
std::vector<Frame> frames_of(const Lane& lane);
/// "devices=1, batch=2".
std::string label(const std::vector<Frame>& frames);
/// The beginning of a lane's error message: "on device 2 of 4: ", or "on device 2 of 4 (rank 1): ".
/// Empty if its maps have one device each.
std::string device_label(const Lane& lane);
/// The indices of the lane's frames; failures are ordered by them.
std::vector<std::size_t> path_of(const Lane& lane);

/// The participants of a collective, relative to the calling lane, which is one of them.
struct Address {
  MapRun* root = nullptr;          ///< the outermost map whose axis is named
  std::vector<Frame> frames;       ///< of the calling lane
  std::vector<char> is_named;      ///< for each frame, whether its axis is named
  std::vector<std::size_t> group;  ///< indices along the axis that take part; empty: all
  std::size_t num_lanes = 1;       ///< number of participants
  MapRun* spanning = nullptr;      ///< the named map whose lanes are on several ranks
  std::size_t num_inside = 1;      ///< participants in one lane of that map
  std::size_t position = 0;        ///< of the calling lane, outermost axis first

  /// The frames of the participant at another position.
  [[nodiscard]] std::vector<Frame> frames_at(std::size_t other) const;
  /// Its index in the outermost of the maps.
  [[nodiscard]] std::size_t root_lane(std::size_t other) const {
    return group.empty() ? other / (num_lanes / root->size) : group[other];
  }
  /// The rank that runs it. @pre spanning != nullptr
  [[nodiscard]] std::size_t rank_of(std::size_t other) const {
    return spanning->placement.rank_of(group.empty() ? other / num_inside % spanning->size
                                                     : group[other]);
  }
  /// Whether both addresses belong to the same collective.
  [[nodiscard]] bool matches(const Address& other) const;
  /// Identifies the participants: equal on all ranks for lanes of the same collective, and only for
  /// them.
  [[nodiscard]] std::string key() const;
};

/// @param name  of the collective; messages begin with it
/// @throws Error kUsage if an axis is unknown or named twice, or groups are not a partition of one
///         axis into equal parts
Address resolve(const Lane* lane, const std::string& name, const std::vector<std::string>& axes,
                const std::vector<std::vector<std::size_t>>& groups);

/// A collective that lanes wait in.
struct Meeting {
  enum class Phase { kOpen, kWorking, kDone, kAborted };

  Meeting(Address where, Request what)
      : address(std::move(where)),
        request(std::move(what)),
        brought(address.num_lanes),
        arrived(address.num_lanes) {}

  [[nodiscard]] bool spans_ranks() const { return address.spanning != nullptr; }
  [[nodiscard]] bool complete() const { return num_arrived == address.num_lanes; }
  /// A participant that has not arrived and never will: its lane of the outermost map has ended.
  [[nodiscard]] std::optional<std::size_t> lost_lane() const;

  Address address;
  Request request;  ///< of the lane that arrived first
  std::vector<std::vector<Array>> brought;
  std::vector<char> arrived;
  std::size_t num_arrived = 0;
  std::atomic<Phase> phase{Phase::kOpen};
  std::condition_variable changed;
  Job job;
  std::atomic<std::size_t> next_piece{0};
  std::atomic<std::size_t> pieces_left{0};
  std::exception_ptr error;  ///< of a piece
};

}  // namespace halftone::spmd::internal

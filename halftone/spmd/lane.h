// SPDX-License-Identifier: Apache-2.0
// A call of a mapped function under way, its lanes, and the collectives they meet in.
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

#include "halftone/base/error.h"
#include "halftone/spmd/devices.h"
#include "halftone/spmd/request.h"

namespace halftone::spmd::internal {

class Program;
struct MapRun;

/// Leaves a lane that must stop because another one failed. No std::exception, so that functions
/// that handle errors of their own let it pass.
struct Stopped {};

/// Why the lanes of a program stop: of several errors, that of the first lane.
struct Failure {
  std::vector<std::size_t> path;  ///< of the lane; empty for an error of no single lane
  ErrorKind kind = ErrorKind::kInternal;
  std::string message{};
};

/// Lanes [next, end) of one device that have not begun.
struct LaneQueue {
  std::mutex* baton = nullptr;  ///< of the device
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
  bool is_own_device =
      false;  ///< the device that the thread which called the map holds or may take

  [[nodiscard]] bool has_lanes() const { return next.load() < end; }
};

/// One call of a function for one index of a map.
struct Lane {
  MapRun* run = nullptr;
  LaneQueue* queue = nullptr;  ///< whose baton is held while the lane runs
  std::size_t index = 0;
  Devices devices{};         ///< for maps inside it; empty outside of pmap
  std::size_t num_maps = 0;  ///< that it has begun

  /// The lane that this thread runs; null outside of maps.
  static Lane*& current();
};

/// One call of a mapped function: a level of the nest.
struct MapRun : std::enable_shared_from_this<MapRun> {
  std::shared_ptr<Program> program;  // shared with threads that come to help when all is done
  Lane* parent = nullptr;
  std::size_t number = 0;  ///< among the maps that the parent, or the program, has begun
  std::string axis_name;
  std::size_t size = 0;
  Placement placement;   ///< without devices for a map on one device
  int threads_each = 1;  ///< that loops inside a lane may use
  const std::function<void(std::size_t)>* body = nullptr;
  std::deque<LaneQueue> queues;
  // The rest belongs to the program's mutex.
  std::vector<char> ended;  ///< which lanes of this process have
  std::atomic<std::size_t> num_left{0};
  std::condition_variable all_ended;

  [[nodiscard]] bool spans_ranks() const { return placement.devices.spans_ranks(); }
  /// What a lane may divide by maps inside it.
  [[nodiscard]] Devices devices_of(std::size_t lane) const {
    if (!placement.devices.empty()) return placement.devices_of(lane);
    return parent == nullptr ? Devices() : parent->devices;
  }
};

/// Where a lane stands: the maps around it, outermost first, and its index in each.
struct Frame {
  MapRun* run = nullptr;
  std::size_t index = 0;
};
std::vector<Frame> frames_of(const Lane& lane);
/// "devices=1, batch=2".
std::string label(const std::vector<Frame>& frames);
/// The indices of the frames, by which failures are ordered.
std::vector<std::size_t> path_of(const Lane& lane);

/// Who takes part in a collective, as one of them sees it.
struct Address {
  MapRun* root = nullptr;          ///< the outermost map whose axis is named
  std::vector<Frame> frames;       ///< of the lane that asks
  std::vector<char> is_named;      ///< of each frame
  std::vector<std::size_t> group;  ///< indices along the axis that take part; empty: all
  std::size_t num_lanes = 1;       ///< that take part
  MapRun* spanning = nullptr;      ///< the map among the named whose lanes are on several ranks
  std::size_t num_inside = 1;      ///< lanes that take part in one lane of that map
  std::size_t position = 0;        ///< of the lane that asks, among them, outermost axis first

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
  /// Whether lanes at both addresses are to meet.
  [[nodiscard]] bool matches(const Address& other) const;
  /// The same text on every rank for lanes that are to meet, another for others.
  [[nodiscard]] std::string key() const;
};

/// @param name  of the collective, as messages begin
/// @throws Error kUsage if an axis is unknown or named twice, or groups are not a partition of one
///         axis into equal parts
Address resolve(const Lane* lane, const std::string& name, const std::vector<std::string>& axes,
                const std::vector<std::vector<std::size_t>>& groups);

/// A collective under way.
struct Meeting {
  enum class Phase { kOpen, kWorking, kDone, kAborted };

  Meeting(Address where, Request what)
      : address(std::move(where)),
        request(std::move(what)),
        brought(address.num_lanes),
        arrived(address.num_lanes) {}

  [[nodiscard]] bool spans_ranks() const { return address.spanning != nullptr; }
  [[nodiscard]] bool complete() const { return num_arrived == address.num_lanes; }
  /// A participant that has not come and will not, since its lane of the outermost map has ended.
  [[nodiscard]] std::optional<std::size_t> lost_lane() const;

  Address address;
  Request request;  ///< of the lane that came first
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

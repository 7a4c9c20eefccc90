// SPDX-License-Identifier: Apache-2.0
// The outermost call of a mapped function and everything that runs inside it.
//
// Each lane is a call on a thread's stack. A device runs one lane at a time: the one whose thread
// holds the device's baton. The lanes of a device start one after another on one thread. A lane
// that waits for others releases the baton, and another thread starts the next lane. So a map
// without collectives is a loop, and collectives need one thread for each lane that waits.
//
// With several processes, every rank runs the same outermost call and in it its own lanes. When
// none of them can continue, the ranks exchange what their lanes wait for (rounds.h). They run the
// collectives that are complete, in the same order on every rank. If none is complete, every rank
// knows that no lane can continue, and the reason.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "halftone/spmd/lane.h"

namespace halftone::spmd::internal {

class Program {
 public:
  /// @param name  compared by the ranks, to check that they run the same: "pmap 'devices' of 4"
  explicit Program(std::string name) : name_(std::move(name)) {}

  /// Runs the lanes of a map and returns when they have ended.
  /// @throws the failure, as Error or as thrown, in the outermost map; Stopped in maps inside it
  void run(const std::shared_ptr<MapRun>& run);
  /// Waits for the lanes of `address` and runs the collective.
  /// @return the leaves of the calling lane's result
  /// @throws Stopped if a lane failed or will never arrive
  std::vector<Array> meet(Lane& lane, Address address, Request request);

  /// The mutex that lanes outside of devices hold while they run.
  [[nodiscard]] std::mutex& host_baton() { return host_baton_; }
  /// The number of the next map outside of lanes.
  std::size_t next_number() { return num_maps_++; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void enter(MapRun& run);
  void start_queues(const std::shared_ptr<MapRun>& run);
  void run_queue(MapRun& run, LaneQueue& queue);
  void run_lane(MapRun& run, LaneQueue& queue, std::size_t index);
  void end_lane(MapRun& run, std::size_t index);
  void wait_for_end(MapRun& run);

  std::shared_ptr<Meeting> join(Lock& lock, Address address, Request request);
  void carry_out(Meeting& meeting);
  void help(Meeting& meeting);
  void wait(Lane& lane, Meeting& meeting);
  void call_helpers(const Lane& lane, Meeting& meeting);

  void fail_with(Lock& lock, Failure failure);
  void fail_with_current_exception(const Lane& lane);
  void quiet(Lock& lock);
  void meet_ranks(Lock& lock);
  void finish_meeting(Meeting& meeting, Meeting::Phase phase);

  const std::string name_;
  std::mutex host_baton_;
  std::mutex mutex_;
  std::size_t num_maps_ = 0;
  std::size_t num_runnable_ = 0;  ///< lanes of this process that have not ended and do not wait
  std::vector<std::shared_ptr<Meeting>> open_;  // shared with the lanes that wait in them
  std::optional<Failure> failure_;
  Transport* transport_ = nullptr;  ///< of the map that spans ranks; null before it starts
  RanksClaim ranks_;
  bool ranks_agree_ = false;  ///< that the program is over
  bool over_ = false;
  std::condition_variable all_over_;
};

}  // namespace halftone::spmd::internal

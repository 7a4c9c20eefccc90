// SPDX-License-Identifier: Apache-2.0
// What mapped functions run on: the worker threads of one process, or of several.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "halftone/spmd/transport.h"

namespace halftone::spmd {

/// A row of devices, numbered 0, 1, ... in the order of ranks. A device does one thing at a time:
/// it runs one lane until that lane ends or waits. Devices are threads that take turns on the cores
/// there are, so that any number can be emulated. Copies are the same devices.
class Devices {
 public:
  /// None.
  Devices() = default;
  /// Devices of this process. @throws Error kUsage unless 1 <= count <= 4096
  static Devices emulate(std::size_t count);
  /// As many of this process as parallel_for() may use threads.
  static Devices for_threads();
  /// Devices of all ranks; every rank calls this at the same time, with the number of its own.
  /// @throws Error kUsage unless 1 <= per_rank <= 4096
  static Devices over(std::shared_ptr<Transport> transport, std::size_t per_rank = 1);

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// The devices of this process among them.
  [[nodiscard]] std::size_t num_local() const;
  [[nodiscard]] std::size_t rank() const;
  [[nodiscard]] std::size_t num_ranks() const;
  /// The rank that device `index` belongs to.
  [[nodiscard]] std::size_t rank_of(std::size_t index) const;
  /// Whether they belong to several ranks.
  [[nodiscard]] bool spans_ranks() const {
    return count_ != 0 && rank_of(0) != rank_of(count_ - 1);
  }
  /// Null where there is a single process.
  [[nodiscard]] Transport* transport() const;

  /// Devices [begin, begin + count) of these. @pre begin + count <= size()
  [[nodiscard]] Devices part(std::size_t begin, std::size_t count) const;
  /// What a lane holds while it runs on a device of this process.
  [[nodiscard]] std::mutex& baton(std::size_t index) const;

  bool operator==(const Devices&) const = default;

 private:
  friend class RanksClaim;
  struct State;
  std::shared_ptr<State> state_;  // shared: copies and parts are the same devices
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// The use of the ranks behind devices by one map or gather, from whose threads all talk to the
/// others. Unlike a lock it may end on another thread.
class RanksClaim {
 public:
  /// Nothing is claimed.
  RanksClaim() = default;
  /// @throws Error kUsage if they are in use. @pre devices.spans_ranks()
  explicit RanksClaim(const Devices& devices);
  ~RanksClaim() { release(); }
  RanksClaim(RanksClaim&& other) noexcept = default;
  RanksClaim& operator=(RanksClaim&& other) noexcept;
  void release();

 private:
  std::shared_ptr<Devices::State> state_;  // shared with the devices
};

/// Where lanes 0, 1, ... of a map run: lane i of n on device floor(i * size / n), so that each
/// device has neighbouring lanes. With no more lanes than devices, a lane has the devices up to the
/// next lane's, of its own rank, to itself, for maps inside it.
struct Placement {
  Devices devices;
  std::size_t num_lanes = 0;

  [[nodiscard]] std::size_t device_of(std::size_t lane) const;
  [[nodiscard]] std::size_t rank_of(std::size_t lane) const {
    return devices.rank_of(device_of(lane));
  }
  [[nodiscard]] Devices devices_of(std::size_t lane) const;
  /// The first lane on a rank >= `rank`; num_lanes if there is none.
  [[nodiscard]] std::size_t first_lane(std::size_t rank) const;
  /// Lanes of this process: [first_local(), first_local() + num_local()).
  [[nodiscard]] std::size_t first_local() const { return first_lane(devices.rank()); }
  [[nodiscard]] std::size_t num_local() const {
    return first_lane(devices.rank() + 1) - first_local();
  }
  bool operator==(const Placement&) const = default;
};

}  // namespace halftone::spmd

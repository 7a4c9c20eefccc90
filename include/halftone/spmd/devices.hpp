// SPDX-License-Identifier: Apache-2.0
// The devices that run mapped functions: worker threads of one process or of several.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/spmd/transport.hpp"

namespace halftone::spmd {
inline namespace v0 {
class Devices;
}  // namespace v0

namespace internal {
class RanksClaim;
std::mutex& baton(const Devices& devices, std::size_t index);
}  // namespace internal

inline namespace v0 {

/// A list of devices, numbered 0, 1, ... in the order of ranks. A device runs one lane at a time,
/// until that lane ends or waits. Devices are threads that share the available cores, so that any
/// number can be emulated. Copies refer to the same devices.
class HALFTONE_CPP_API Devices {
 public:
  /// No devices.
  Devices() = default;
  /// Devices of this process. @throws Error kUsage unless 1 <= count <= 4096
  static Devices emulate(std::size_t count);
  /// One device of this process for each core, or for each thread that loops may use.
  static Devices for_threads();
  /// Devices of all ranks. Every rank calls this at the same time, with its own number of devices.
  /// @throws Error kUsage unless 1 <= per_rank <= 4096
  static Devices over(std::shared_ptr<Transport> transport, std::size_t per_rank = 1);

  /// The number of devices of all ranks.
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }  ///< whether there are none
  /// The number of these devices that belong to this process.
  [[nodiscard]] std::size_t num_local() const;
  [[nodiscard]] std::size_t rank() const;       ///< of this process
  [[nodiscard]] std::size_t num_ranks() const;  ///< 1 for a single process
  /// The rank that device `index` belongs to.
  [[nodiscard]] std::size_t rank_of(std::size_t index) const;
  /// Whether they belong to several ranks.
  [[nodiscard]] bool spans_ranks() const {
    return count_ != 0 && rank_of(0) != rank_of(count_ - 1);
  }
  /// Null for a single process.
  [[nodiscard]] Transport* transport() const;

  /// Devices [begin, begin + count) of these. @pre begin + count <= size()
  [[nodiscard]] Devices part(std::size_t begin, std::size_t count) const;

  bool operator==(const Devices&) const = default;

 private:
  friend class internal::RanksClaim;
  friend std::mutex& internal::baton(const Devices& devices, std::size_t index);
  struct State;
  std::shared_ptr<State> state_;  // shared: copies and parts are the same devices
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// Assigns the lanes of a map to devices: lane i of n runs on device floor(i * size / n), so that
/// each device has neighbouring lanes. If there are at most as many lanes as devices, maps inside a
/// lane may use the devices of its rank from its own up to that of the next lane.
struct HALFTONE_CPP_API Placement {
  Devices devices;
  std::size_t num_lanes = 0;

  /// The index of the device that runs a lane.
  [[nodiscard]] std::size_t device_of(std::size_t lane) const;
  /// The rank of that device.
  [[nodiscard]] std::size_t rank_of(std::size_t lane) const {
    return devices.rank_of(device_of(lane));
  }
  /// The devices that maps inside a lane may use.
  [[nodiscard]] Devices devices_of(std::size_t lane) const;
  /// The first lane on a rank >= `rank`, or num_lanes.
  [[nodiscard]] std::size_t first_lane(std::size_t rank) const;
  /// Lanes of this process: [first_local(), first_local() + num_local()).
  [[nodiscard]] std::size_t first_local() const { return first_lane(devices.rank()); }
  /// Their number.
  [[nodiscard]] std::size_t num_local() const {
    return first_lane(devices.rank() + 1) - first_local();
  }
  bool operator==(const Placement&) const = default;
};

}  // namespace v0
}  // namespace halftone::spmd

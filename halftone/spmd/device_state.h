// SPDX-License-Identifier: Apache-2.0
// What maps hold of devices while they run.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "halftone/spmd/devices.hpp"

namespace halftone::spmd::internal {

/// The mutex that a lane holds while it runs on a device of this process.
std::mutex& baton(const Devices& devices, std::size_t index);

/// Exclusive use of the ranks of some devices by one map or gather, whose threads communicate with
/// the other ranks. Unlike a lock, it may be released on another thread.
class RanksClaim {
 public:
  /// Claims nothing.
  RanksClaim() = default;
  /// @throws Error kUsage if the ranks are in use. @pre devices.spans_ranks()
  explicit RanksClaim(const Devices& devices);
  ~RanksClaim() { release(); }
  RanksClaim(RanksClaim&& other) noexcept = default;
  RanksClaim& operator=(RanksClaim&& other) noexcept;
  void release();

 private:
  std::shared_ptr<Devices::State> state_;  // shared with the devices
};

}  // namespace halftone::spmd::internal

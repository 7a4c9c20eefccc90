// SPDX-License-Identifier: Apache-2.0
// What launches have in common. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/gpu/driver.h"

namespace halftone::gpu {

/// Threads of a block where each has an element of its own.
inline constexpr std::size_t kThreads = 128;

/// An extent as kernels count. @throws Error kUnsupported from 2^32 on
inline std::uint32_t number(std::size_t count) {
  if (count <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(count);
  fail(ErrorKind::kUnsupported,
       "a kernel of a device: expected extents below 2^32, found " + std::to_string(count));
}

/// Blocks of kThreads for so many elements.
inline Grid grid_of(std::size_t count) { return {(count + kThreads - 1) / kThreads, 1, kThreads}; }

/// Whether a launch has threads.
inline bool has_threads(const Launch& launch) { return launch.grid.x != 0 && launch.grid.y != 0; }

/// Launches that are made anew each time.
class LaunchList final : public Replay {
 public:
  /// @param device  must outlive this
  LaunchList(GpuDevice& device, std::span<const Launch> launches)
      : device_(device), launches_(launches.begin(), launches.end()) {}
  void run() override {
    for (const Launch& each : launches_) device_.launch(each);
  }

 private:
  GpuDevice& device_;
  std::vector<Launch> launches_;
};

/// Memory of a device with these elements. @throws Error as GpuDevice
template <typename T>
std::unique_ptr<Buffer> upload(GpuDevice& device, std::span<const T> elements) {
  std::unique_ptr<Buffer> buffer = device.allocate(elements.size_bytes());
  device.write(*buffer, 0, std::as_bytes(elements));
  return buffer;
}

/// Elements of memory of a device, from its start. Waits for the queue. @throws Error as GpuDevice
template <typename T>
std::vector<T> download(GpuDevice& device, const Buffer& buffer, std::size_t count) {
  std::vector<T> elements(count);
  device.read(buffer, 0, std::as_writable_bytes(std::span(elements)));
  return elements;
}

}  // namespace halftone::gpu

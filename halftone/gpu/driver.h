// SPDX-License-Identifier: Apache-2.0
// What Halftone needs of a graphics card: memory, programs, launches. OpenCL and CUDA implement it.
// Their libraries are loaded when a device is asked for, not before.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::gpu {

enum class Api { kOpenCl, kCuda };
std::string_view to_string(Api api);  ///< "opencl", "cuda"

/// A device, as its driver describes it.
struct DeviceInfo {
  Api api = Api::kOpenCl;
  int index = 0;         ///< among the devices of the interface
  std::string name{};    ///< "NVIDIA H100 80GB HBM3"
  std::string driver{};  ///< its name and version
  std::uint64_t memory_bytes = 0;
  int units = 0;              ///< multiprocessors, or compute units
  bool is_processor = false;  ///< OpenCL on the processor
  /// What programs are compiled for: "sm_90", or the version of OpenCL C.
  std::string target{};
  /// Why Halftone cannot use the device, and what to do; empty if it can.
  std::string problem{};

  /// "opencl:0", "cuda:1"
  [[nodiscard]] std::string id() const;
};

/// Memory of a device. Released with the last owner; must not outlive its device.
class Buffer {
 public:
  explicit Buffer(std::size_t size_bytes) : size_bytes_(size_bytes) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::size_t size_bytes_;
};

/// An argument of a kernel: a buffer, or a number of four bytes.
struct KernelArgument {
  KernelArgument(const Buffer& memory) : buffer(&memory) {}  // NOLINT(google-explicit-constructor)
  KernelArgument(std::uint32_t number) : bits(number) {}     // NOLINT(google-explicit-constructor)
  KernelArgument(float number)                               // NOLINT(google-explicit-constructor)
      : bits(std::bit_cast<std::uint32_t>(number)) {}

  const Buffer* buffer = nullptr;  ///< null: a number
  std::uint32_t bits = 0;
};

/// Blocks of threads of a launch: x * y blocks of `threads` threads.
struct Grid {
  std::size_t x = 1;
  std::size_t y = 1;
  std::size_t threads = 1;
};

/// A function of a program. Must not outlive its device.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
};

/// A kernel with its arguments: what a device is asked to do.
struct Launch {
  Kernel* kernel = nullptr;
  Grid grid{};
  std::vector<KernelArgument> arguments{};
};

/// Launches that a device repeats as they are, one after another. Its kernels and buffers must
/// outlive it.
class Replay {
 public:
  Replay() = default;
  virtual ~Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  /// Adds all launches to the queue. @throws Error as GpuDevice
  virtual void run() = 0;
};

/// A compiled text.
class Program {
 public:
  Program() = default;
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  /// @throws Error kInternal if the text has no such kernel
  virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
  /// What the driver can load in place of the text.
  virtual std::vector<std::byte> binary() const = 0;
};

/// A moment in the queue of a device.
class Event {
 public:
  Event() = default;
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /// Waits for this moment. @return seconds from an earlier one of the same device
  virtual double seconds_since(Event& earlier) = 0;
};

/// A device with one queue: what is asked for first is done first. One thread at a time may use it.
/// All functions throw Error kDevice, "opencl:0: ...: ...", if the driver reports an error, such as
/// too little memory or a device that was lost. Errors of a launch may come with a later call.
class GpuDevice {
 public:
  GpuDevice() = default;
  virtual ~GpuDevice() = default;
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  /// Memory that holds anything.
  virtual std::unique_ptr<Buffer> allocate(std::size_t size_bytes) = 0;
  /// Copies to the device; `bytes` may change afterwards. @pre within the buffer
  virtual void write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) = 0;
  /// Waits for the queue and copies from the device. @pre within the buffer
  virtual void read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) = 0;
  /// Compiles a text.
  /// @param text  OpenCL C, or CUDA C++: see text/prelude.cl
  virtual std::unique_ptr<Program> compile(const std::string& text) = 0;
  /// @param binary  Program::binary() of the same device and driver
  virtual std::unique_ptr<Program> load(std::span<const std::byte> binary) = 0;
  /// Adds a launch to the queue.
  virtual void launch(const Launch& launch) = 0;
  /// Prepares launches to be repeated, with less work of the processor each time: CUDA makes a
  /// graph of them, OpenCL kernels whose arguments are set. What changes from one time to the next
  /// is in buffers.
  virtual std::unique_ptr<Replay> prepare(std::span<const Launch> launches) = 0;
  virtual std::unique_ptr<Event> record() = 0;
  /// Waits for all that is in the queue.
  virtual void finish() = 0;
};

/// Devices of an interface, also those that Halftone cannot use.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  /// Why there are none: what is missing, and how to install it; empty if there are some.
  std::string missing;
};
/// Looks for devices. Never throws for want of a driver.
DeviceList list_devices(Api api);

/// @param id  "opencl", "opencl:1", "cuda", "cuda:0"; without a number the first that can be used
/// @throws Error kUsage for another text; kDevice if there is no such device, with what is missing
std::unique_ptr<GpuDevice> open_device(std::string_view id);

}  // namespace halftone::gpu

// SPDX-License-Identifier: Apache-2.0
// A device beside the processor that runs steps of plans in memory of its own. gpu/network/
// implements it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "halftone/ir/graph.h"

namespace halftone::runtime {

struct NodeContext;
struct PlanStep;
class Plan;

/// A step as a device runs it, with its constants there. Immutable, shared by sessions.
class DeviceKernel {
 public:
  DeviceKernel() = default;
  virtual ~DeviceKernel() = default;
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;
  /// Memory of the device for weights and tables.
  [[nodiscard]] virtual std::size_t constant_bytes() const = 0;
};

/// The memory of one session on a device. A value has the bytes that it has on the processor, and
/// is named by its root (Storage::root). Steps are done in the order in which they are asked for.
/// All functions throw Error kDevice if the device reports an error.
class DeviceSession {
 public:
  DeviceSession() = default;
  virtual ~DeviceSession() = default;
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  /// Copies a value to the device.
  virtual void write(ir::ValueId root, std::span<const std::byte> bytes) = 0;
  /// Waits for the steps before and copies a value from the device.
  virtual void read(ir::ValueId root, std::span<std::byte> bytes) = 0;
  /// Asks for a step of the plan.
  virtual void run(std::size_t step) = 0;
  /// Waits for all that was asked for.
  virtual void finish() = 0;
};

/// The kernel of a step; null: why there is none.
struct DeviceChoice {
  std::shared_ptr<const DeviceKernel> kernel;
  std::string refusal{};
};

/// Any number of plans and sessions, on any threads, may use it at the same time.
class StepDevice {
 public:
  StepDevice() = default;
  virtual ~StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  /// "opencl:0"
  [[nodiscard]] virtual std::string id() const = 0;
  /// A kernel with the bits of that of the step.
  /// @throws Error kDevice if the device reports an error, such as too little memory
  [[nodiscard]] virtual DeviceChoice choose(const NodeContext& context,
                                            const PlanStep& step) const = 0;
  /// Memory for a session of a plan that has kernels of this device.
  /// @throws Error kDevice if it has too little of it, or reports another error
  [[nodiscard]] virtual std::unique_ptr<DeviceSession> make_session(const Plan& plan) const = 0;
};

}  // namespace halftone::runtime

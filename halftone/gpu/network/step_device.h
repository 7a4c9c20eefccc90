// SPDX-License-Identifier: Apache-2.0
// Networks on a device: the steps of plans that have kernels there.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "halftone/gpu/driver.h"
#include "halftone/runtime/step_device.h"

namespace halftone::gpu {

/// A device for runtime::ExecutionOptions. Its kernels have the bits of those of the processor.
/// @param id  as of open_device(); also "cpu": null
/// @throws Error as open_device()
std::shared_ptr<const runtime::StepDevice> open_step_device(std::string_view id);

/// What a session needs of the memory of a device.
struct MemoryNeed {
  std::size_t constants = 0;  ///< bytes of weights and tables
  std::size_t values = 0;     ///< bytes of values
  std::size_t batch = 1;
};
/// @throws Error kDevice if that is more than a device has
void check_memory(const DeviceInfo& info, const MemoryNeed& need);

}  // namespace halftone::gpu

// SPDX-License-Identifier: Apache-2.0
// Devices through OpenCL 1.2. Private to this module: see driver.h.
#pragma once

#include "halftone/gpu/driver.h"

namespace halftone::gpu {

DeviceList list_opencl_devices();
/// @throws Error as GpuDevice
std::unique_ptr<GpuDevice> open_opencl_device(const DeviceInfo& info);

}  // namespace halftone::gpu

// SPDX-License-Identifier: Apache-2.0
// Devices through CUDA's driver interface and NVRTC. Private to this module: see driver.h.
#pragma once

#include "halftone/gpu/driver.h"

namespace halftone::gpu {

DeviceList list_cuda_devices();
/// @throws Error as GpuDevice
std::unique_ptr<GpuDevice> open_cuda_device(const DeviceInfo& info);

}  // namespace halftone::gpu

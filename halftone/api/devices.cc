// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/devices.h"

#include "halftone/base/memory.h"
#include "halftone/base/processor.h"
#include "halftone/gpu/driver.h"
#include "halftone/kernels/targets.h"

namespace halftone {

std::vector<v0::Device> list_devices() {
  std::vector<v0::Device> devices = {{.id = "cpu",
                                      .name = processor_name(),
                                      .driver = kernels::current_simd_target(),
                                      .memory_bytes = available_memory().value_or(0)}};
  for (const gpu::Api api : {gpu::Api::kOpenCl, gpu::Api::kCuda}) {
    const gpu::DeviceList found = gpu::list_devices(api);
    for (const gpu::DeviceInfo& info : found.devices) {
      devices.push_back({info.id(), info.name, info.driver, info.memory_bytes, info.problem});
    }
    if (found.devices.empty()) {
      devices.push_back({.id = std::string(to_string(api)), .problem = found.missing});
    }
  }
  return devices;
}

}  // namespace halftone

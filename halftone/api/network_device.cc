// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/network_device.h"

#include "halftone/gpu/choose.h"
#include "halftone/gpu/network/step_device.h"

namespace halftone {

std::shared_ptr<const runtime::StepDevice> network_device(const std::string& name) {
  if (name.empty()) return nullptr;
  return gpu::open_step_device(name == "auto" ? gpu::choose_device().id : name);
}

}  // namespace halftone

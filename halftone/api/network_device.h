// SPDX-License-Identifier: Apache-2.0
// Graphics cards for networks.
#pragma once

#include <memory>
#include <string>

#include "halftone/runtime/step_device.h"

namespace halftone {

/// A device for runtime::ExecutionOptions: it runs the steps that it has kernels for, with the bits
/// of the processor.
/// @param name  empty or "cpu": null, the processor runs all; "auto": gpu::choose_device(); else
///              "opencl", "cuda:1", ...
/// @throws Error kUsage for another text; kDevice if there is no such device, with what is missing
std::shared_ptr<const runtime::StepDevice> network_device(const std::string& name);

}  // namespace halftone

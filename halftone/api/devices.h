// SPDX-License-Identifier: Apache-2.0
// What this machine can compute with.
#pragma once

#include <vector>

#include "halftone/types/devices.hpp"

namespace halftone {

/// The processor, then the devices of OpenCL and of CUDA, or what is missing to use them.
std::vector<v0::Device> list_devices();

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// The best device of a machine.
#pragma once

#include <span>
#include <string>

#include "halftone/gpu/driver.h"

namespace halftone::gpu {

/// What "auto" means on a machine.
struct ChosenDevice {
  std::string id;      ///< "cuda:0"; "cpu": none
  std::string reason;  ///< "NVIDIA H100, the card with the most memory", or why there is none
};

/// The graphics card with the most memory. CUDA precedes OpenCL, through which the same card is
/// slower; OpenCL on the processor is no card.
/// @param lists  of list_devices()
ChosenDevice choose_device(std::span<const DeviceList> lists);
/// The same of this machine. Loads the libraries of drivers.
ChosenDevice choose_device();

}  // namespace halftone::gpu

// SPDX-License-Identifier: Apache-2.0
// What a machine can compute with.
#pragma once

#include <vector>

#include "halftone/export.hpp"
#include "halftone/types/devices.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The processor, then the devices of OpenCL and of CUDA, with what is missing to use them. Loads
  /// the libraries of drivers that are installed.
  HALFTONE_CPP_API std::vector<Device> devices();

}  // namespace v0
}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
#include "halftone/devices.hpp"

#include "halftone/api/devices.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

std::vector<Device> devices() {
  return at_border([] { return list_devices(); });
}

}  // namespace halftone::v0

// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/tiles.h"

#include <algorithm>

namespace halftone::accel {

std::size_t Homes::of(Role role) const {
  switch (role) {
    case Role::kWeights:
      return weights;
    case Role::kInputs:
      return inputs;
    case Role::kOutputs:
      return outputs;
    case Role::kStates:
    case Role::kGradients:
    case Role::kOptimizer:
      break;
  }
  return 0;
}

Traffic compulsory_traffic(const Operation& operation, const Accelerator& accelerator,
                           const Homes& homes, double passes) {
  Traffic traffic;
  traffic.memories.resize(accelerator.memories.size());
  // Reads beyond the first: all passes but the one that writes.
  const double read_passes = passes > 0 ? passes - 1 : 1;
  for (std::size_t i = 0; i < traffic.memories.size(); ++i) {
    for (const Transfer& each : operation.reads) {
      const double times = each.role == Role::kInputs ? read_passes : 1;
      if (homes.of(each.role) <= i) traffic.memories[i].read += times * each.bytes;
    }
    for (const Transfer& each : operation.writes) {
      if (homes.of(each.role) <= i) traffic.memories[i].written += each.bytes;
    }
  }
  return traffic;
}

Traffic tiled_traffic(const Operation& operation, const Accelerator& accelerator,
                      const ComputeUnit& /*unit*/, const Homes& homes) {
  return compulsory_traffic(operation, accelerator, homes, 0);
}

}  // namespace halftone::accel

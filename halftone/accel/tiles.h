// SPDX-License-Identifier: Apache-2.0
// The bytes that an operation moves through each memory.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/workload.h"

namespace halftone::accel {

/// Where the operands of an operation come from: indices of memories.
struct Homes {
  std::size_t weights = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  [[nodiscard]] std::size_t of(Role role) const;
};

/// Bytes that cross the boundary below a memory.
struct Crossing {
  double read = 0;
  double written = 0;
};

struct Traffic {
  std::vector<Crossing> memories;  ///< by memory of the accelerator
  std::size_t tiles = 1;           ///< pieces that leave the outermost memory in turn
};

/// Each byte once, through its home and all memories inside it.
/// @param passes  as in OperatorRule; 0: one over inputs, one over outputs
Traffic compulsory_traffic(const Operation& operation, const Accelerator& accelerator,
                           const Homes& homes, double passes);

/// The traffic of a product in tiles that fit the memories: of the mapping that takes the least
/// time, found by mapping::find_mapping(). Operations beside the product move each byte once.
/// @param unit  that multiplies; its tiles are the innermost ones
/// @throws Error kUnsupported if no tile fits
Traffic tiled_traffic(const Operation& operation, const Accelerator& accelerator,
                      const ComputeUnit& unit, const Homes& homes);

}  // namespace halftone::accel

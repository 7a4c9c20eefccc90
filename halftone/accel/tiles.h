// SPDX-License-Identifier: Apache-2.0
// The bytes that an operation moves through each memory.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/mapping/search.h"
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

/// The mapping of a product on the memories from its operands' homes inwards that takes the least
/// time. Its words are the tiles that the unit multiplies at once.
/// @throws Error as mapping::find_mapping()
mapping::FoundMapping best_mapping(const Operation& operation, const Accelerator& accelerator,
                                   const ComputeUnit& unit, const Homes& homes);

/// The traffic of a product in tiles that fit the memories: of the mapping that takes the least
/// time. What is read beside the two factors moves once.
/// @param unit  that multiplies; its tiles are the innermost ones
/// @throws Error as best_mapping()
Traffic tiled_traffic(const Operation& operation, const Accelerator& accelerator,
                      const ComputeUnit& unit, const Homes& homes);

}  // namespace halftone::accel

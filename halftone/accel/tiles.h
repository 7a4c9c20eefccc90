// SPDX-License-Identifier: Apache-2.0
// The bytes that an operation moves through each memory.
#pragma once

#include <array>
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
  [[nodiscard]] std::size_t of(TensorRole role) const;
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

/// What a unit multiplies at once.
struct UnitTile {
  std::size_t rows = 1;
  std::size_t inner = 1;
  std::size_t cols = 1;
};
UnitTile unit_tile(const ComputeUnit& unit, const Product& product);

/// The mapping of a product on the memories from its operands' homes inwards that takes the least
/// time. Its words are the tiles that the unit multiplies at once.
struct TiledProduct {
  mapping::FoundMapping found;
  std::size_t first = 0;  ///< the memory of the mapping's level 0
  /// By level, the bytes of a word of x, w and y; 0 outside the operand's home.
  std::vector<std::array<double, 3>> word_bytes;
};
/// @throws Error as mapping::find_mapping()
TiledProduct tile_product(const Operation& operation, const Accelerator& accelerator,
                          const ComputeUnit& unit, const Homes& homes);

/// The traffic of a product in tiles that fit the memories: of the mapping that takes the least
/// time. What is read beside the two factors moves once.
/// @param unit  that multiplies; its tiles are the innermost ones
/// @throws Error as tile_product()
Traffic tiled_traffic(const Operation& operation, const Accelerator& accelerator,
                      const ComputeUnit& unit, const Homes& homes);

}  // namespace halftone::accel

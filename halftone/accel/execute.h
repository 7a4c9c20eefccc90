// SPDX-License-Identifier: Apache-2.0
// Runs the products of a workload in their tiles on emulated units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/workload.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::accel {

/// A product that was computed tile by tile.
struct Executed {
  std::string name;            ///< of the first operation with this product
  std::size_t equal = 1;       ///< operations of the workload with the same extents and formats
  std::string refusal;         ///< why it was not run; empty if it was
  std::uint64_t steps = 0;     ///< of all units, one tile each
  std::size_t units = 1;       ///< that work at the same time
  double estimated_bytes = 0;  ///< that leave or enter the outermost memory, as tiled_traffic()
  double moved_bytes = 0;      ///< the same, counted while it ran
  bool counts_agree = false;   ///< of every memory and operand, reads and updates
  bool result_agrees = false;  ///< with the plain product
};

struct ExecuteOptions {
  std::uint64_t seed = 0;
  std::uint64_t max_steps = 1U << 20;  ///< products in more tiles are not run
  spmd::Devices devices{};             ///< that emulate units; empty: one
};

/// Computes one of `count` products of each kind in the workload: every buffer of the mapping that
/// tiled_traffic() finds exists, words move as its loops say, units multiply their tiles on
/// `devices`, partial results are merged on their way out. Factors are pseudo-random integers of
/// the bits of each factor, at most 8, so that sums are exact.
/// @throws Error kUnsupported if no unit computes a product; as best_mapping()
std::vector<Executed> execute(const Workload& workload, const Accelerator& accelerator,
                              const ExecuteOptions& options = {});

}  // namespace halftone::accel

// SPDX-License-Identifier: Apache-2.0
// Closed forms for the words that move between two levels. For the sources of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/accel/mapping/hierarchy.h"
#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

/// A loop outside a level.
struct NestLoop {
  std::size_t dimension = 0;
  std::uint64_t bound = 1;
  bool is_spatial = false;
};

/// Words of a data space between one instance of a level and the level outside.
struct Crossing {
  std::uint64_t down = 0;  ///< fills
  std::uint64_t up = 0;    ///< sums that leave; 0 unless it is the output
};

/// A buffer holds one tile. A step of a temporal loop whose dimension the data space lacks, and of
/// no other loop that it has, leaves the tile as it is. A step of the innermost temporal loop alone
/// shifts the tile: only new words arrive. Any other step replaces the whole tile. So with b_i the
/// bounds of the temporal loops outside, without the innermost ones whose dimension is lacking,
///
///     words = tile prod b_i,
///
/// or, if no loop was left out and b is the innermost bound, (tile + (b - 1) new) prod of the other
/// b_i. For an input they are fills. Of an output they are sums that leave; those that were there
/// before, all but the first time each, are fills.
/// @param tile     iterations inside the level
/// @param outside  loops outside it, outermost first
/// Source: Parashar et al., Timeloop: A Systematic Approach to DNN Accelerator Evaluation, ISPASS
/// 2019 (tile analysis).
/// Differs: windows are discounted for the innermost loop only, as its reference outputs show.
Crossing crossing(const DataSpace& space, const Extents& tile, std::span<const NestLoop> outside);

/// The MACs below an instance: they read each input anew for each MAC.
Crossing mac_crossing(const DataSpace& space, std::span<const NestLoop> outside);

/// Instances of a level below one of the level outside, and how many of them hold different data.
struct Spread {
  std::uint64_t children = 1;
  std::uint64_t distinct = 1;
};
Spread spread(const DataSpace& space, std::span<const NestLoop> between);

/// ceil(words bits / access_bits).
inline std::uint64_t num_accesses(std::uint64_t words, std::uint64_t bits,
                                  std::uint64_t access_bits) {
  return (words * bits + access_bits - 1) / access_bits;
}

}  // namespace halftone::accel::mapping

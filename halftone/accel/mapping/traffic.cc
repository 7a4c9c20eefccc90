// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/traffic.h"

namespace halftone::accel::mapping {
namespace {

/// Words of all tiles after one another.
std::uint64_t tiles_words(const DataSpace& space, const Extents& tile,
                          std::span<const NestLoop> outside) {
  const unsigned mask = dimension_mask(space);
  const std::uint64_t words = tile_words(space, tile);
  Extents step = tile;
  std::uint64_t product = 1;
  bool inside_out = true;  // every loop so far was left out, or had one iteration
  bool left_out = false;
  std::uint64_t per_step = words;
  for (auto loop = outside.rbegin(); loop != outside.rend(); ++loop) {
    if (loop->is_spatial) step[loop->dimension] *= loop->bound;
    if (loop->is_spatial || loop->bound == 1) continue;
    if (inside_out && (mask >> loop->dimension & 1U) == 0) {
      left_out = true;
      continue;
    }
    if (inside_out && !left_out) {
      const std::uint64_t fresh = new_words(space, tile, loop->dimension, step[loop->dimension]);
      per_step = words + (loop->bound - 1) * fresh;
    } else {
      product *= loop->bound;
    }
    inside_out = false;
  }
  return per_step * product;
}

}  // namespace

Crossing crossing(const DataSpace& space, const Extents& tile, std::span<const NestLoop> outside) {
  const std::uint64_t words = tiles_words(space, tile, outside);
  if (!space.is_output) return {words, 0};
  const unsigned mask = dimension_mask(space);
  std::uint64_t first = tile_words(space, tile);
  for (const NestLoop& loop : outside) {
    if (!loop.is_spatial && (mask >> loop.dimension & 1U) != 0) first *= loop.bound;
  }
  return {words - first, words};
}

Crossing mac_crossing(const DataSpace& space, std::span<const NestLoop> outside) {
  std::uint64_t macs = 1;
  std::uint64_t first = 1;
  for (const NestLoop& loop : outside) {
    if (loop.is_spatial) continue;
    macs *= loop.bound;
    if (has_dimension(space, loop.dimension)) first *= loop.bound;
  }
  if (!space.is_output) return {macs, 0};
  return {macs - first, macs};
}

Spread spread(const DataSpace& space, std::span<const NestLoop> between) {
  Spread result;
  for (const NestLoop& loop : between) {
    if (!loop.is_spatial) continue;
    result.children *= loop.bound;
    if (has_dimension(space, loop.dimension)) result.distinct *= loop.bound;
  }
  return result;
}

}  // namespace halftone::accel::mapping

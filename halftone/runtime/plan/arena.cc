// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/arena.h"

#include <algorithm>
#include <numeric>

#include "halftone/base/buffer.h"

namespace halftone::runtime {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

ArenaLayout plan_arena(std::span<const Lifetime> pieces) {
  ArenaLayout layout;
  layout.offsets.resize(pieces.size(), 0);
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<std::size_t> placed;  // in ascending order of offset
  for (const std::size_t piece : order) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(pieces[piece], pieces[other])) continue;
      if (offset + pieces[piece].bytes <= layout.offsets[other]) break;
      offset =
          std::max(offset, AlignedBuffer::rounded_up(layout.offsets[other] + pieces[other].bytes));
    }
    layout.offsets[piece] = offset;
    layout.size_bytes = std::max(layout.size_bytes, offset + pieces[piece].bytes);
    const auto after = std::find_if(placed.begin(), placed.end(), [&](std::size_t other) {
      return layout.offsets[other] > offset;
    });
    placed.insert(after, piece);
  }
  return layout;
}

}  // namespace halftone::runtime

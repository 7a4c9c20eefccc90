// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/base/random.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone::runtime {
namespace {

bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

TEST(PlanArena, NoPiecesNeedNoMemory) {
  EXPECT_EQ(plan_arena({}).size_bytes, 0U);
  EXPECT_TRUE(plan_arena({}).offsets.empty());
}

TEST(PlanArena, AChainNeedsItsTwoLargestNeighbours) {
  const Lifetime pieces[] = {{1024, 0, 1}, {512, 1, 2}, {1024, 2, 3}, {512, 3, 4}};
  EXPECT_EQ(plan_arena(pieces).size_bytes, 1536U);
}

TEST(PlanArena, FillsGapsBetweenLivePieces) {
  // The third buffer fits below the second, in the memory that the first one freed.
  const Lifetime pieces[] = {{256, 0, 1}, {192, 0, 5}, {64, 2, 3}};
  const ArenaLayout layout = plan_arena(pieces);
  EXPECT_EQ(layout.offsets, (std::vector<std::size_t>{0, 256, 0}));
  EXPECT_EQ(layout.size_bytes, 448U);
}

TEST(PlanArena, PiecesOfOverlappingLifetimesNeverOverlap) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> pieces(random.below(40));
    std::size_t sum = 0;
    for (Lifetime& piece : pieces) {
      piece.bytes = random.below(3) == 0 ? 0 : random.below(1000);
      piece.first = random.below(20);
      piece.last = piece.first + random.below(6);
      sum += (piece.bytes + 63) / 64 * 64;
    }
    const ArenaLayout layout = plan_arena(pieces);
    EXPECT_LE(layout.size_bytes, sum);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % 64, 0U);
      EXPECT_LE(layout.offsets[i] + pieces[i].bytes, layout.size_bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together =
            pieces[i].first <= pieces[j].last && pieces[j].first <= pieces[i].last;
        if (!together || pieces[i].bytes == 0 || pieces[j].bytes == 0) continue;
        EXPECT_FALSE(
            overlap(layout.offsets[i], pieces[i].bytes, layout.offsets[j], pieces[j].bytes))
            << "round " << round << ": pieces " << j << " and " << i;
      }
    }
  }
}

}  // namespace
}  // namespace halftone::runtime

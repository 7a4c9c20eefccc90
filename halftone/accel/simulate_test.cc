// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

double simulated(const TilePipeline& pipeline) {
  const TileTasks all = tile_tasks(pipeline);
  return finish(simulate(all.system, all.tasks));
}

// Times that are whole multiples of 1/8: sums in any order are exact.
TEST(Simulation, EqualsTheClosedFormWhereNothingIsShared) {
  for (const double load : {0.125, 1.0, 3.0}) {
    for (const double compute : {0.25, 1.0, 2.5}) {
      for (const double store : {0.0, 0.5, 4.0}) {
        for (const std::size_t buffers : {1U, 2U}) {
          for (const std::size_t tiles : {1U, 2U, 3U, 17U}) {
            const TilePipeline pipeline{load, compute, store, tiles, 1, buffers, false};
            EXPECT_EQ(simulated(pipeline), pipeline_seconds(pipeline))
                << load << " " << compute << " " << store << " " << buffers << " " << tiles;
          }
        }
      }
    }
  }
}

TEST(Simulation, DividesTilesAmongUnits) {
  // Loads take no time: units alone decide, and the last round may be short.
  EXPECT_EQ(simulated({0, 1, 0, 8, 4, 2, false}), 2);
  EXPECT_EQ(simulated({0, 1, 0, 9, 4, 2, false}), 3);
  // One load port feeds four units: it limits once it is slower than a quarter of the work.
  EXPECT_EQ(simulated({1, 2, 0, 16, 4, 2, false}), 18);
}

TEST(Simulation, LetsLoadsAndStoresTakeTurnsOnASharedPort) {
  const TilePipeline apart{1, 1, 1, 10, 1, 2, false};
  TilePipeline together = apart;
  together.shared_port = true;
  EXPECT_EQ(simulated(apart), 12);
  EXPECT_GE(simulated(together), 20);  // twenty transfers of a second each
}

TEST(Simulation, StartsTheSmallestIndexFirst) {
  const System system{{{"unit", 1}}, {}};
  const std::vector<TaskRun> runs = simulate(system, {{0, 2, {}}, {0, 1, {}}, {0, 1, {0}}});
  EXPECT_EQ(runs[0].start_s, 0);
  EXPECT_EQ(runs[1].start_s, 2);
  EXPECT_EQ(runs[2].start_s, 3);
}

TEST(Simulation, TakesTheFirstFreeServer) {
  const System system{{{"unit", 2}}, {}};
  const std::vector<TaskRun> runs = simulate(system, {{0, 3, {}}, {0, 1, {}}, {0, 1, {}}});
  EXPECT_EQ(runs[0].server, 0U);
  EXPECT_EQ(runs[1].server, 1U);
  EXPECT_EQ(runs[2].server, 1U);
  EXPECT_EQ(finish(runs), 3);
  EXPECT_EQ(busy({{0, 3, {}}, {0, 1, {}}, {1, 1, {}}}, 0), 4);
}

TEST(Simulation, ReportsTasksThatWaitForEver) {
  const System system{{{"unit", 1}}, {{"room", 1}}};
  try {
    simulate(system, {{0, 1, {}, 0, {}}, {0, 1, {}, 0, {}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), testing::HasSubstr("1 tasks wait for slots"));
  }
}

}  // namespace
}  // namespace halftone::accel

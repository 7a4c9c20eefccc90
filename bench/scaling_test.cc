// SPDX-License-Identifier: Apache-2.0
#include "bench/scaling.h"

#include "halftone/base/testing.h"

namespace halftone::bench {
namespace {

using testing::DoubleNear;

const Cluster kFree{"free", {}, 0};
const Cluster kSlow{"slow", {1e-3, 1e-8, 1e-9}, 0};

TEST(Scaling, DividesLanesAndNothingElse) {
  const SharedWork work{.name = "", .startup_s = 1, .alike_s = 2, .shared_s = 12, .lanes = 6};
  EXPECT_EQ(predict_seconds(work, 1, kFree), 15);
  EXPECT_EQ(predict_seconds(work, 3, kFree), 1 + 2 + 4);
  EXPECT_EQ(predict_seconds(work, 4, kFree), 1 + 2 + 4);  // two ranks have two lanes still
  EXPECT_EQ(predict_seconds(work, 100, kFree), 1 + 2 + 2);
  EXPECT_EQ(efficiency(work, 3, kFree), 14.0 / (3 * 6));
}

TEST(Scaling, CrowdsRanksOnFewCores) {
  const SharedWork work{.name = "", .shared_s = 8, .lanes = 8};
  EXPECT_EQ(predict_seconds(work, 4, {"", {}, 2}), 4);
  EXPECT_EQ(predict_seconds(work, 2, {"", {}, 2}), 4);
}

TEST(Scaling, OfGrowingWorkPaysForSumsOnly) {
  const SharedWork work{.name = "", .shared_s = 0.1, .lanes = 1, .sums = {{1e6, 2}}, .grows = true};
  EXPECT_EQ(efficiency(work, 64, kFree), 1);
  const double sums = 2 * kSlow.link.seconds(spmd::psum_path(64, 1e6));
  EXPECT_THAT(efficiency(work, 64, kSlow), DoubleNear(0.1 / (0.1 + sums), 1e-12));
}

TEST(Scaling, MaySumByHalving) {
  const SharedWork work{.name = "", .sums = {{4096, 1}}};
  const double seconds = sum_seconds(work, 64, {"", {1, 0, 0}, 0, true});
  EXPECT_EQ(seconds, 12);  // up and down a tree of six levels
}

TEST(Scaling, SeparatesDividedFromRepeatedWork) {
  const SharedWork wanted{.name = "",
                          .startup_s = 0.5,
                          .alike_s = 3,
                          .shared_s = 10,
                          .lanes = 5,
                          .sums = {{1e6, 2}, {100, 7}}};
  SharedWork blank = wanted;
  blank.alike_s = blank.shared_s = 0;
  const SharedWork found = with_times(blank, predict_seconds(wanted, 1, kSlow),
                                      predict_seconds(wanted, 2, kSlow), kSlow);
  EXPECT_THAT(found.alike_s, DoubleNear(3, 1e-9));
  EXPECT_THAT(found.shared_s, DoubleNear(10, 1e-9));
}

TEST(Scaling, TreatsSuperlinearSpeedupAsAllDivided) {
  const SharedWork found = with_times({.name = "", .startup_s = 1, .lanes = 4}, 9, 3, kFree);
  EXPECT_EQ(found.shared_s, 8);
  EXPECT_EQ(found.alike_s, 0);
}

}  // namespace
}  // namespace halftone::bench

// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/speeds.h"

#include <gtest/gtest.h>

#include "halftone/gpu/testing.h"

namespace halftone::gpu {
namespace {

using SpeedsOnDevice = OnDevice;

TEST(LinearCost, GoesThroughBothPoints) {
  const LinearCost cost = linear_cost(100, 3, 300, 7);
  EXPECT_DOUBLE_EQ(cost.fixed_s, 1);
  EXPECT_DOUBLE_EQ(cost.per_second, 50);
}

TEST(LinearCost, HasNoNegativeParts) {
  const LinearCost faster = linear_cost(100, 3, 300, 2);
  EXPECT_DOUBLE_EQ(faster.fixed_s, 0);
  EXPECT_DOUBLE_EQ(faster.per_second, 150);
  const LinearCost steeper = linear_cost(100, 1, 300, 6);
  EXPECT_DOUBLE_EQ(steeper.fixed_s, 0);
  EXPECT_DOUBLE_EQ(steeper.per_second, 50);
}

TEST_F(SpeedsOnDevice, AreThoseOfAllKindsOfLaunches) {
  std::vector<double> fractions;
  const DeviceSpeeds speeds = measure_speeds(
      *programs, {.seconds = 0, .progress = [&](double each) { fractions.push_back(each); }});
  EXPECT_EQ(speeds.info.id(), device->info().id());
  EXPECT_GT(speeds.launch_s, 0);
  EXPECT_GT(speeds.round_trip_s, 0);
  EXPECT_GT(speeds.host_s, 0);
  EXPECT_GT(speeds.host_bytes_per_second, 1e6);
  EXPECT_GT(speeds.copy_bytes_per_second, 1e6);
  EXPECT_GT(speeds.operations_per_second, 1e6);
  EXPECT_GT(speeds.attention.per_second, 1e3);
  ASSERT_EQ(speeds.products.size(), 4U);
  EXPECT_EQ(speeds.products[1].weight_bits, 4);
  for (const ProductSpeed& each : speeds.products) EXPECT_GT(each.per_second, 1e6);
  EXPECT_EQ(fractions.size(), 6U);
  EXPECT_LT(fractions.back(), 1);
}

}  // namespace
}  // namespace halftone::gpu

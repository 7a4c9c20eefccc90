// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/accel/operation_model.h"
#include "halftone/accel/testing.h"
#include "halftone/base/testing.h"

namespace halftone::accel {
namespace {

using halftone::expect_error;
using test::chip;
using test::elements;
using test::layer;

OperationEstimate of_one(const Operation& operation, const Accelerator& accelerator,
                         Method model = Method::kTiles) {
  return estimate({"w", 1, {operation}}, accelerator, {model}).operations[0];
}

TEST(Estimate, IsTheSlowerOfComputeAndMemory) {
  // 64 x 1000 x 100 products: 64 us; 64,000 + 100,000 + 25,600 bytes: 23.7 us.
  const OperationEstimate compute = of_one(layer(64, 1000, 100), chip(), Method::kRoofline);
  EXPECT_DOUBLE_EQ(compute.seconds, 64e-6);
  EXPECT_EQ(compute.bound, "compute");
  EXPECT_DOUBLE_EQ(compute.utilization, 1);
  // One row: 1 us; 1,000 + 100,000 + 400 bytes: 12.675 us.
  const OperationEstimate memory = of_one(layer(1, 1000, 100), chip(), Method::kRoofline);
  EXPECT_DOUBLE_EQ(memory.seconds, 101400 / 8e9);
  EXPECT_EQ(memory.bound, "DRAM");
  EXPECT_DOUBLE_EQ(memory.intensity, 100000.0 / 101400);
}

TEST(Estimate, AddsWhatASingleBufferCannotHide) {
  Accelerator accelerator = chip();
  accelerator.memories[0].double_buffered = false;
  EXPECT_DOUBLE_EQ(of_one(layer(64, 1000, 100), accelerator, Method::kRoofline).seconds,
                   64e-6 + 189600 / 8e9);
}

TEST(Estimate, CountsEnergyOfProductsOperationsAndBytes) {
  Accelerator accelerator = chip();
  accelerator.idle_w = 2;
  const Estimate one = estimate({"w", 1, {layer(1, 1000, 100)}}, accelerator, {Method::kRoofline});
  const double active = 1e-12 * (100000 * 2.0 + 101400 * 7.0);
  EXPECT_DOUBLE_EQ(one.operations[0].energy_j, active);
  EXPECT_DOUBLE_EQ(one.idle_j, 2 * one.seconds);
  EXPECT_DOUBLE_EQ(one.energy_j, active + one.idle_j);
  const OperationEstimate softmax =
      of_one(elements("Softmax", 1000, 4, 1), accelerator, Method::kRoofline);
  EXPECT_DOUBLE_EQ(softmax.energy_j, 1e-12 * (9000 * 3.0 + 8000 * 7.0));
  EXPECT_DOUBLE_EQ(softmax.compute_s, 9000 / 10e9);
}

TEST(Estimate, FollowsTheRulesOfOperators) {
  Accelerator accelerator = chip();
  accelerator.rules = {{.operators = {"FullyConnected"}, .overhead_s = 1e-3, .efficiency = 0.5},
                       {.operators = {"Softmax"}, .passes = 4}};
  const OperationEstimate found = of_one(layer(64, 1000, 100), accelerator, Method::kRoofline);
  EXPECT_DOUBLE_EQ(found.seconds, 1e-3 + 128e-6);
  EXPECT_EQ(found.bound, "overhead");
  // Three reads and a write of 4,000 bytes.
  EXPECT_DOUBLE_EQ(of_one(elements("Softmax", 1000), accelerator).seconds, 16000 / 8e9);
}

TEST(Estimate, RoundsProductsUpToTilesOfUnits) {
  Accelerator accelerator = chip();
  ComputeUnit& unit = accelerator.units[0];
  unit.count = 4;
  unit.tile_rows = 16;
  unit.tile_columns = 32;
  unit.tile_inner = 8;
  // 17 rows and 33 columns are four tiles, one for each unit.
  EXPECT_DOUBLE_EQ(product_seconds(unit, layer(17, 9, 33).product, true), 16.0 * 32 * 16 / 100e9);
  EXPECT_DOUBLE_EQ(product_seconds(unit, layer(17, 9, 33).product, false), 17.0 * 9 * 33 / 400e9);
  // One tile: the units share its inner extent, 100 steps of 8.
  EXPECT_DOUBLE_EQ(product_seconds(unit, layer(16, 800, 32).product, true),
                   16.0 * 32 * 200 / 100e9);
  // Five tiles take two rounds.
  EXPECT_DOUBLE_EQ(product_seconds(unit, layer(80, 8, 32).product, true),
                   2 * 16.0 * 32 * 8 / 100e9);
}

TEST(Estimate, NeverFallsBelowTheRoofline) {
  for (const std::string& name : shipped_accelerators()) {
    const Accelerator accelerator = load_accelerator(name);
    for (const auto& operation : {layer(1, 300, 70), layer(33, 512, 200), layer(64, 64, 500)}) {
      const Workload workload{"w", 1, {operation, operation, operation}};
      const double bound = estimate(workload, accelerator, {Method::kRoofline}).seconds;
      const double tiles = estimate(workload, accelerator, {Method::kTiles}).seconds;
      const double events = estimate(workload, accelerator, {Method::kEvents}).seconds;
      EXPECT_LE(bound, tiles * (1 + 1e-12)) << name;
      EXPECT_LE(tiles, events * (1 + 1e-12)) << name;
    }
  }
}

TEST(Estimate, KeepsWeightsInTheInnermostMemoryThatHoldsThem) {
  Accelerator accelerator = chip();
  Memory sram;
  sram.name = "SRAM";
  sram.bytes = 1e6;
  sram.bytes_per_second = 1e11;
  accelerator.memories.push_back(sram);
  const Operation one = layer(1, 1000, 100);
  const Estimate three = estimate({"w", 1, {one, one, one}}, accelerator);
  // The first inputs come from outside, the last outputs go there.
  EXPECT_EQ(three.operations[0].traffic[0].bytes_read, 1000);
  EXPECT_EQ(three.operations[1].traffic[0].bytes_read, 0);
  EXPECT_EQ(three.operations[2].traffic[0].bytes_written, 400);
  EXPECT_GE(three.operations[1].traffic[1].bytes_read, 101000);
  // Twelve layers do not fit.
  const Estimate twelve = estimate({"w", 1, std::vector<Operation>(12, one)}, accelerator);
  EXPECT_GE(twelve.operations[1].traffic[0].bytes_read, 100000);
}

TEST(Estimate, NamesAllOperationsThatNoUnitComputes) {
  Accelerator accelerator = chip();
  accelerator.units[0].rates.pop_back();
  accelerator.units[0].operations_per_cycle = 0;
  Operation wide = layer(1, 8, 8, 32);
  wide.name = "wide";
  expect_error(ErrorKind::kUnsupported,
               "chip cannot compute 'wide' (FullyConnected): no unit multiplies weights of float32 "
               "with inputs of float32; 'Tanh' (Tanh): no unit has operations_per_cycle",
               [&] {
                 estimate({"w", 1, {wide, layer(1, 8, 8), elements("Tanh", 8)}}, accelerator);
               });
}

TEST(Estimate, NeedsRoomForTheNetwork) {
  Accelerator accelerator = chip();
  accelerator.memories[0].bytes = 1e5;
  expect_error(ErrorKind::kUnsupported, "needs 201 kB (weights 200 kB, states 0 B", [&] {
    estimate({"w", 1, {layer(1, 1000, 100), layer(1, 1000, 100)}}, accelerator);
  });
}

TEST(Estimate, ReportsATimeline) {
  const Workload workload{"w", 1, {layer(64, 1000, 100), elements("Tanh", 100)}};
  const Estimate closed = estimate(workload, chip());
  ASSERT_EQ(closed.timeline.size(), 2U);
  EXPECT_EQ(closed.timeline[0].end_s, closed.timeline[1].start_s);
  EXPECT_DOUBLE_EQ(closed.timeline[1].end_s, closed.seconds);
  const Estimate events = estimate(workload, chip(), {Method::kEvents});
  EXPECT_GT(events.timeline.size(), 2U);
  for (const Bar& bar : events.timeline) {
    EXPECT_LT(bar.start_s, bar.end_s);
    EXPECT_LE(bar.end_s, events.seconds * (1 + 1e-12));
  }
}

TEST(Estimate, CountsTransfersWithTheHost) {
  Accelerator accelerator = chip();
  accelerator.host = HostLink{1e9, 1e-6};
  const Estimate found = estimate({"w", 1, {layer(1, 1000, 100)}}, accelerator);
  EXPECT_DOUBLE_EQ(found.host_s, 2e-6 + 1400 / 1e9);
}

TEST(Method, HasNames) {
  EXPECT_EQ(method_named("events"), Method::kEvents);
  expect_error(ErrorKind::kUsage, "expected one of roofline, tiles, events, found 'x'",
               [] { method_named("x"); });
}

}  // namespace
}  // namespace halftone::accel

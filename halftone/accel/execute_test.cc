// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/accel/testing.h"
#include "halftone/base/testing.h"

namespace halftone::accel {
namespace {

using halftone::expect_error;
using test::layer;

/// Small memories, so that products come in many tiles.
Accelerator small_chip(UnitKind kind, std::size_t count) {
  Accelerator result;
  result.name = "chip";
  ComputeUnit unit;
  unit.name = "unit";
  unit.kind = kind;
  unit.count = count;
  unit.clock_hz = 1e9;
  unit.rows = unit.tile_rows = 4;
  unit.columns = unit.tile_columns = 8;
  unit.tile_inner = 16;
  unit.rates = {{8, 8, false, true, 16}};
  result.units = {unit};
  Memory dram{.name = "DRAM", .bytes = 1e6, .bytes_per_second = 1e9, .holds = {}};
  Memory sram{.name = "SRAM", .bytes = 2048, .bytes_per_second = 1e10, .holds = {}};
  result.memories = {dram, sram};
  return result;
}

void expect_agreement(const Executed& found) {
  EXPECT_EQ(found.refusal, "");
  EXPECT_TRUE(found.counts_agree);
  EXPECT_TRUE(found.result_agrees);
  EXPECT_EQ(found.moved_bytes, found.estimated_bytes);
  EXPECT_GT(found.moved_bytes, 0);
}

TEST(Execution, ComputesThePlainProductAndMovesWhatWasCounted) {
  for (const UnitKind kind : {UnitKind::kVector, UnitKind::kBitSerial, UnitKind::kSystolic}) {
    for (const std::size_t count : {1U, 3U, 6U}) {
      // Extents that tiles divide, and some that they do not.
      for (const auto& operation :
           {layer(8, 64, 32, 2), layer(5, 70, 19, 2), layer(1, 100, 24, 1), layer(33, 17, 3, 8)}) {
        const auto results = execute({"w", 1, {operation}}, small_chip(kind, count));
        ASSERT_EQ(results.size(), 1U);
        expect_agreement(results[0]);
      }
    }
  }
}

TEST(Execution, GivesTheSameOnAnyNumberOfDevices) {
  const Workload workload{"w", 1, {layer(9, 70, 40)}};
  for (const std::size_t devices : {2U, 5U}) {
    ExecuteOptions options;
    options.devices = spmd::Devices::emulate(devices);
    expect_agreement(execute(workload, small_chip(UnitKind::kVector, 4), options)[0]);
  }
}

TEST(Execution, RunsEqualProductsOnce) {
  const Workload workload{"w", 1, {layer(8, 64, 32), layer(8, 64, 32), layer(8, 64, 16)}};
  const auto results = execute(workload, small_chip(UnitKind::kVector, 2));
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].equal, 2U);
  EXPECT_EQ(results[1].equal, 1U);
}

TEST(Execution, SaysWhatItDoesNotRun) {
  ExecuteOptions options;
  options.max_steps = 3;
  const auto results =
      execute({"w", 1, {layer(8, 64, 32)}}, small_chip(UnitKind::kVector, 2), options);
  EXPECT_EQ(results[0].refusal, "32 tiles, more than 3");
  expect_error(ErrorKind::kUnsupported,
               "'layer': no unit of chip multiplies weights of int16 with inputs of int16", [] {
                 execute({"w", 1, {layer(8, 64, 32, 16)}}, small_chip(UnitKind::kVector, 2));
               });
}

}  // namespace
}  // namespace halftone::accel

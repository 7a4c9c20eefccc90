// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/measure_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/accel/estimate.h"
#include "halftone/accel/testing.h"
#include "halftone/base/testing.h"
#include "halftone/gpu/speeds.h"
#include "halftone/gpu/testing.h"

namespace halftone::accel {
namespace {

gpu::DeviceSpeeds some_speeds() {
  gpu::DeviceSpeeds speeds;
  speeds.info.api = gpu::Api::kOpenCl;
  speeds.info.name = "card";
  speeds.info.memory_bytes = std::uint64_t{1} << 33;
  speeds.launch_s = 4e-6;
  speeds.round_trip_s = 24e-6;
  speeds.copy_bytes_per_second = 1e12;
  speeds.host_bytes_per_second = 1e10;
  speeds.host_s = 1e-5;
  speeds.operations_per_second = 1e12;
  speeds.products = {{2, 5e13, 1.25e-12}, {4, 1e14, 2e-12}, {8, 2e14, 1e-12}};
  speeds.attention = {10e-6, 1e13};
  return speeds;
}

/// A layer of a language model: 8-bit inputs, and weights of some bits.
Operation language_layer(std::size_t rows, int bits) {
  Operation operation = test::layer(rows, 4096, 4096, 8);
  operation.product.w.bits = bits;
  operation.reads[1].bytes = 4096.0 * 4096 * bits / 8;
  return operation;
}

double seconds_of(const Operation& operation, const Accelerator& chip) {
  return estimate({"w", 1, {operation, operation, operation}}, chip).operations[1].seconds;
}

TEST(MeasuredDevice, GivesTheTimesOfItsSpeeds) {
  const Accelerator chip = describe_device(some_speeds(), {});
  EXPECT_EQ(chip.name, "card");
  EXPECT_EQ(chip.source, "measured by halftone estimate --measure --device opencl:0");
  EXPECT_TRUE(chip.comparison.empty());
  EXPECT_EQ(chip.memories[0].bytes, 8589934592.0);
  constexpr double kProducts = 4096.0 * 4096;
  // launch + products / rate + seconds per byte; the bytes take less at the copy's bandwidth
  EXPECT_NEAR(seconds_of(language_layer(1, 4), chip),
              4e-6 + kProducts / 1e14 + 2e-12 * kProducts / 2, 1e-12);
  EXPECT_NEAR(seconds_of(language_layer(64, 8), chip),
              4e-6 + 64 * kProducts / 2e14 + 1e-12 * kProducts, 1e-9);
  // Weights of 3 bits have the speed of the next wider ones.
  EXPECT_NEAR(seconds_of(language_layer(1, 3), chip),
              4e-6 + kProducts / 1e14 + 2e-12 * kProducts * 3 / 8, 1e-12);
  EXPECT_EQ(to_toml(parse_accelerator(to_toml(chip), "chip")), to_toml(chip));
}

TEST(MeasuredDevice, IsLimitedByItsMemory) {
  gpu::DeviceSpeeds speeds = some_speeds();
  speeds.products[1].s_per_weight_byte = 0;
  constexpr double kBytes = 4096.0 * 4096 / 2;
  EXPECT_NEAR(seconds_of(language_layer(1, 4), describe_device(speeds, {})), 4e-6 + kBytes / 1e12,
              1e-12);
}

TEST(MeasuredDevice, DoesNotWaitForItselfInEachLayer) {
  std::vector<Sample> samples;
  for (const std::size_t size : {64U, 128U, 192U, 640U}) {
    for (const std::size_t rows : {1U, 3U, 8U}) {
      const double products = static_cast<double>(rows * size) * 10;
      // 20 us of it is the wait.
      samples.push_back({test::layer(rows, size, 10, 2), 25e-6 + products * 1e-9});
    }
  }
  const Accelerator chip = describe_device(some_speeds(), samples);
  for (const Sample& each : samples) {
    EXPECT_NEAR(seconds_of(each.operation, chip) / (each.seconds - 20e-6), 1, 1e-6);
  }
  EXPECT_THAT(chip.comparison, testing::HasSubstr("median error 0 % over the 12 operations"));
}

TEST(MeasuredDevice, HasRulesForLayersOfNetworksAndOfLanguageModels) {
  if (!gpu::why_no_device().empty()) GTEST_SKIP() << gpu::why_no_device();
  ProbeSettings options;
  options.seconds_per_run = 0;
  options.min_runs = 1;
  double last = 0;
  options.progress = [&](double fraction, std::string_view) {
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  const Accelerator chip = measure_device(gpu::test_device_name(), options);
  EXPECT_LT(last, 1);
  EXPECT_GT(last, 0.9);
  for (const int bits : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const OperatorRule rule = chip.rule(language_layer(1, bits));
    EXPECT_EQ(rule.weight_bits, bits + bits % 2);  // those of the next wider ones
    EXPECT_EQ(rule.input_bits, 8);
  }
  for (const int bits : {32, 8, 2, 1}) {
    Operation operation = test::layer(1, 64, 10, bits);
    EXPECT_EQ(chip.rule(operation).weight_bits, bits);
    operation.op = "Conv";
    EXPECT_EQ(chip.rule(operation).weight_bits, bits);
  }
  EXPECT_EQ(parse_accelerator(to_toml(chip), "chip").rules.size(), chip.rules.size());
}

TEST(MeasuredDevice, MustBeThere) {
  expect_error(ErrorKind::kDevice, "no device opencl:99",
               [] { return measure_device("opencl:99"); });
  expect_error(ErrorKind::kUsage, "found 'gpu'", [] { return measure_device("gpu"); });
}

}  // namespace
}  // namespace halftone::accel

// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/accel/estimate.h"
#include "halftone/accel/testing.h"

namespace halftone::accel {
namespace {

using test::layer;

Operation elements(double count) { return test::elements("Add", count); }

Operation encode(double count, int bits) {
  Operation result = test::elements("Encode", count);
  result.product.w = result.product.x = {bits, false};
  return result;
}

/// Samples of a processor that follows the model exactly.
std::vector<Sample> exact_samples() {
  std::vector<Sample> samples;
  // The probes: fast enough never to limit.
  for (const double rate : {1e11, 5e11, 2e13}) {
    const Operation probe = layer(1, 1000, 1000, 32);
    samples.push_back({probe, probe.bytes_read() / rate});
  }
  for (const std::size_t size : {64U, 128U, 192U, 640U}) {
    for (const std::size_t rows : {1U, 3U, 8U}) {
      const double outputs = static_cast<double>(rows) * 10;
      const double products = static_cast<double>(rows * size) * 10;
      samples.push_back({layer(rows, size, 10, 2), 1e-6 + products * 1e-12 + outputs * 1e-9});
      samples.push_back({layer(rows, size, 10, 32), 2e-6 + products * 1e-11 + outputs * 2e-9});
    }
    samples.push_back(
        {elements(static_cast<double>(size)), 3e-6 + 1e-9 * static_cast<double>(size)});
    for (const int bits : {8, 2}) {
      const auto count = static_cast<double>(size);
      samples.push_back({encode(count, bits), 1e-7 * bits + 1e-10 * bits * count});
    }
  }
  return samples;
}

TEST(MeasuredProcessor, FollowsSamplesThatFollowTheModel) {
  const std::vector<Sample> samples = exact_samples();
  const Accelerator chip = describe(samples, "exact");
  ASSERT_EQ(chip.memories.size(), 4U);
  EXPECT_NEAR(chip.memories[0].bytes_per_second, 1e11, 1);
  EXPECT_NEAR(chip.memories[2].bytes_per_second, 2e13, 1);
  for (std::size_t i = 3; i < samples.size(); ++i) {
    const Operation& operation = samples[i].operation;
    const Estimate result = estimate({"w", 1, {operation, operation, operation}}, chip);
    EXPECT_NEAR(result.operations[1].seconds / samples[i].seconds, 1, 1e-6) << i;
  }
  EXPECT_THAT(chip.comparison, testing::HasSubstr("median error 0 % over the 36 operations"));
  EXPECT_EQ(to_toml(parse_accelerator(to_toml(chip), "chip")), to_toml(chip));
}

TEST(MeasuredProcessor, HasARuleForEachKindOfLayerAndWidth) {
  ProbeSettings options;
  options.seconds_per_run = 0;
  options.min_runs = 1;
  options.max_probe_bytes = 1e6;
  std::size_t reports = 0;
  options.progress = [&](double fraction, std::string_view) {
    EXPECT_LT(fraction, 1);
    ++reports;
  };
  const std::vector<Sample> samples = measure_samples(options);
  EXPECT_GT(reports, 100U);
  const Accelerator chip = describe(samples, "here");
  for (const char* op : {"Conv", "DepthwiseConv", "FullyConnected"}) {
    for (const int bits : {32, 8, 4, 3, 2, 1}) {
      Operation operation = layer(1, 64, 10, bits);
      operation.op = op;
      const OperatorRule rule = chip.rule(operation);
      EXPECT_EQ(rule.weight_bits, bits) << op;
    }
  }
  EXPECT_TRUE(chip.rule(elements(1)).s_per_operation.has_value());
  EXPECT_EQ(chip.rule(encode(1, 8)).weight_bits, 8);
  EXPECT_EQ(chip.rule(encode(1, 1)).weight_bits, 1);
  EXPECT_EQ(parse_accelerator(to_toml(chip), "chip").rules.size(), chip.rules.size());
}

}  // namespace
}  // namespace halftone::accel

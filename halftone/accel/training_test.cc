// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/training.h"

#include <gtest/gtest.h>

#include "halftone/accel/estimate.h"
#include "halftone/accel/testing.h"

namespace halftone::accel {
namespace {

using test::elements;
using test::layer;

TEST(TrainingStep, TakesThreeTimesTheProducts) {
  const Workload forward{"w", 8, {layer(8, 100, 50, 32), elements("Tanh", 400, 1, 1)}};
  const Workload step = with_training(forward);
  EXPECT_DOUBLE_EQ(step.products(), 3 * forward.products());
  ASSERT_EQ(step.operations.size(), 2U + 1 + 2 + 1);
  const Operation& tanh = step.operations[2];
  const Operation& inputs = step.operations[3];
  const Operation& weights = step.operations[4];
  EXPECT_EQ(tanh.name, "Tanh backward");
  // dx[8, 100] = dy[8, 50] w^T[50, 100].
  EXPECT_EQ(inputs.product.inner, 50U);
  EXPECT_EQ(inputs.product.cols, 100U);
  // dw[100, 50] = x^T[100, 8] dy[8, 50].
  EXPECT_EQ(weights.product.rows, 100U);
  EXPECT_EQ(weights.product.inner, 8U);
  EXPECT_TRUE(weights.is_gradient_of_weights);
  EXPECT_EQ(weights.writes[0].bytes, 4 * 5000.0);
}

TEST(TrainingStep, HasGradientsOfWindowsWithMoreTapsThanChannels) {
  Operation windows = layer(784, 25, 8, 32);  // 5 x 5 of one channel, to eight channels
  windows.product.taps = 25;
  const Workload step = with_training({"w", 1, {windows}});
  // dx[784, 25] = dy[784, 8] w^T, dw[25, 8] = x^T[25, 784] dy: sums over channels and positions.
  EXPECT_EQ(step.operations[1].product.taps, 1U);
  EXPECT_EQ(step.operations[2].product.taps, 1U);
  for (const char* name : {"h100", "edge-2bit"}) {
    EXPECT_GT(estimate(step, load_accelerator(name)).seconds, 0) << name;
  }
}

TEST(TrainingStep, HasNoGradientOfTheNetworksInputs) {
  Operation scaled = elements("Mul", 800, 1, 0);
  Operation first = layer(8, 100, 50, 32);
  scaled.needs_input_gradient = first.needs_input_gradient = false;
  const Workload step = with_training({"w", 8, {scaled, first, layer(8, 50, 10, 32)}});
  std::vector<std::string> names;
  for (const Operation& each : step.operations) names.push_back(each.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"Mul", "layer", "layer", "layer backward", "layer gradient",
                                      "layer gradient", "layer update", "layer update"}));
  EXPECT_DOUBLE_EQ(step.products(), 8 * (2 * 5000 + 3 * 500));
}

TEST(TrainingStep, ReadsAndWritesOptimizerStates) {
  const Workload step = with_training({"w", 8, {layer(8, 100, 50, 32)}}, {{16, true}, 2, 32});
  const Operation& update = step.operations.back();
  EXPECT_EQ(update.op, "Update");
  EXPECT_EQ(update.operations, 12 * 5000.0);
  // A gradient of 16 bits; the weight and two states of 32.
  EXPECT_EQ(update.bytes_read(), 5000 * (2 + 12.0));
  EXPECT_EQ(update.bytes_written(), 5000 * (12 + 4.0));
  // Kept: inputs, gradients, states.
  EXPECT_EQ(step.training_bytes, 4 * 800 + 5000 * (2 + 12.0));
  EXPECT_EQ(step.weight_bytes(), 4 * 5000.0);
}

TEST(TrainingStep, HasNoUpdateForProductsOfActivations) {
  Operation product = layer(8, 100, 50, 32);
  product.reads[1].role = TensorRole::kInputs;
  const Workload step = with_training({"w", 8, {product}});
  EXPECT_EQ(step.operations.size(), 3U);
  EXPECT_FALSE(step.operations[2].is_gradient_of_weights);
}

TEST(TrainingStep, SumsGradientsOverDataParallelChips) {
  Accelerator chip = test::chip();
  chip.link = ChipLink{Topology::kRing, 1e9, 1, 1e-6, 0};
  const Workload step = with_training({"w", 8, {layer(8, 100, 50, 32)}});
  const Estimate found = estimate(step, chip, {Method::kRoofline, {4, SplitKind::kData}});
  EXPECT_EQ(found.operations[1].link_s, 0);
  EXPECT_DOUBLE_EQ(found.operations[2].link_s, all_reduce_seconds(*chip.link, 4, 4 * 5000.0));
}

}  // namespace
}  // namespace halftone::accel

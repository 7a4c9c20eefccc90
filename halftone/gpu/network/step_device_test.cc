// SPDX-License-Identifier: Apache-2.0
// Which steps a device runs, what is copied for them, and what it says when it cannot.
#include "halftone/gpu/network/step_device.h"

#include <gtest/gtest.h>

#include <thread>

#include "halftone/gpu/network/testing.h"

namespace halftone::gpu {
namespace {

using StepsOnDevice = OnStepDevice;
using ir::kBatch;

/// Dense layer, sine (which no device has), dense layer, softmax.
ir::Graph interrupted_network() {
  Random random(4);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 20}));
  const auto hidden = runtime::testing::add_dense_layer(graph, x, {"dense1", 30, 2}, random);
  const auto sine = graph.add_node("sine", ir::Unary{{ir::ActivationKind::kSin}}, {hidden});
  const auto y = runtime::testing::add_dense_layer(graph, sine, {"dense2", 10, 3}, random);
  graph.add_output(graph.add_node("probabilities", ir::Softmax{1}, {y}));
  return graph;
}

const runtime::PlanStep& step_named(const runtime::Plan& plan, const std::string& name) {
  return *std::ranges::find(plan.steps(), name, &runtime::PlanStep::name);
}

TEST_F(StepsOnDevice, RunOnTheProcessorWithoutAKernel) {
  const auto plan = expect_same_bytes(interrupted_network(), 7);
  const runtime::PlanStep& sine = step_named(*plan, "sine");
  EXPECT_EQ(sine.device, nullptr);
  EXPECT_EQ(sine.on_processor, "no kernel computes Sin");
  EXPECT_EQ(plan->bytes_of(sine.copied), 7U * 30 * sizeof(float));
  EXPECT_NE(step_named(*plan, "dense1").device, nullptr);
  EXPECT_NE(step_named(*plan, "probabilities").device, nullptr);
  EXPECT_EQ(plan->bytes_of(plan->results()), 7U * 10 * sizeof(float));
  EXPECT_EQ(plan->bytes_of(step_named(*plan, "dense1.encode").copied), 7U * 20 * sizeof(float));
  EXPECT_TRUE(step_named(*plan, "dense1").copied.empty());
  EXPECT_GT(plan->device_constant_bytes(), 0U);
}

TEST_F(StepsOnDevice, WithoutALayerStayOnTheProcessor) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 20}));
  const auto y = graph.add_node("relu", ir::test::kRelu, {x});
  graph.add_output(graph.add_node("sum", ir::test::kAdd, {x, y}));
  const auto plan = expect_same_bytes(graph, 2);
  for (const runtime::PlanStep& step : plan->steps()) {
    EXPECT_EQ(step.device, nullptr);
    EXPECT_EQ(step.on_processor, "copying its values would take longer");
    EXPECT_TRUE(step.copied.empty());
  }
}

TEST_F(StepsOnDevice, WithRecurrencesRunOnTheProcessor) {
  constexpr ir::Dim kHidden = 5;
  Random random(4);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({3, kBatch, 4 * kHidden}));
  ir::Tensor weights(ir::ElementType::kFloat32, {4 * kHidden, kHidden});
  for (float& each : weights.as<float>()) each = static_cast<float>(random.normal());
  const auto r = graph.add_constant("r", std::move(weights));
  graph.add_output(graph.add_node("layer", ir::Recurrent{}, {x, r}));
  const auto plan = expect_same_bytes(graph, 2);
  const runtime::PlanStep& layer = step_named(*plan, "layer");
  EXPECT_EQ(layer.device, nullptr);
  EXPECT_NE(layer.on_processor.find("computes Recurrent"), std::string::npos) << layer.on_processor;
}

TEST_F(StepsOnDevice, OfOneDnnRunOnTheProcessor) {
  runtime::PlanSettings how{.batch = 1};
  how.execution.device = device;
  const auto plan = runtime::make_plan(runtime::testing::make_perceptron({}), how);
  const runtime::PlanStep& dense = step_named(*plan, "dense1");
  if (dense.arithmetic != runtime::KernelArithmetic::kFastestFloat) GTEST_SKIP() << "no oneDNN";
  EXPECT_EQ(dense.on_processor, "its order of sums on the processor is not fixed");
}

TEST_F(StepsOnDevice, KeepReshapedValuesAndOutputsThatAreReadTwice) {
  Random random(4);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 4, 6}));
  const auto flat = graph.add_node("flat", ir::Reshape{{kBatch, 24}}, {x});
  const auto y = runtime::testing::add_dense_layer(graph, flat, {"dense", 12, 2}, random);
  const auto square = graph.add_node("square", ir::Reshape{{kBatch, 3, 4}}, {y});
  const auto sine = graph.add_node("sine", ir::Unary{{ir::ActivationKind::kSin}}, {square});
  graph.add_output(square);
  graph.add_output(sine);
  graph.add_output(graph.add_node("sum", ir::test::kAdd, {sine, square}));
  expect_same_bytes(graph, 3);
}

TEST_F(StepsOnDevice, ShowTheirOutputsToObservers) {
  runtime::PlanSettings how = options(3);
  const ir::Graph graph = interrupted_network();
  const auto outputs_of = [&](const runtime::PlanSettings& given) {
    runtime::Session session(runtime::make_plan(graph, given));
    std::vector<ir::Tensor> outputs;
    session.add_observer([&](const runtime::StepEvent& event) {
      outputs.push_back(runtime::to_tensor(event.output));
    });
    Random random(6);
    session.run(random_inputs(session.plan().graph(), random));
    return outputs;
  };
  const auto expected = outputs_of(how);
  how.execution.device = device;
  EXPECT_TRUE(ir::test::same_bytes(outputs_of(how), expected));
}

TEST_F(StepsOnDevice, RunInAnyNumberOfSessions) {
  runtime::PlanSettings how = options(5);
  const ir::Graph graph = interrupted_network();
  runtime::Session processor(runtime::make_plan(graph, how));
  how.execution.device = device;
  const auto plan = runtime::make_plan(graph, how);
  Random random(6);
  const auto inputs = random_inputs(plan->graph(), random);
  const auto expected = processor.run(inputs);
  std::vector<int> same(3);
  std::vector<std::thread> threads;
  for (int& each : same) {
    threads.emplace_back([&] {
      runtime::Session session(plan);
      for (int round = 0; round < 5; ++round) {
        each += ir::test::same_bytes(session.run(inputs), expected) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>({5, 5, 5}));
}

TEST(StepDevice, SaysHowMuchDoesNotFit) {
  const DeviceInfo info{.memory_bytes = 1000};
  EXPECT_NO_THROW(check_memory(info, {600, 400, 2}));
  expect_error(ErrorKind::kDevice,
               "opencl:0: weights of 600 bytes and values of 401 bytes for a batch of 2 do not fit "
               "its 1000 bytes",
               [&] {
                 check_memory(info, {600, 401, 2});
               });
}

TEST(StepDevice, OfTheProcessorIsNone) { EXPECT_EQ(open_step_device("cpu"), nullptr); }

TEST(StepDevice, ReportsWhatIsMissing) {
  expect_error(ErrorKind::kUsage, "", [] { open_step_device("card"); });
  expect_error(ErrorKind::kDevice, "", [] { open_step_device("opencl:99"); });
}

}  // namespace
}  // namespace halftone::gpu

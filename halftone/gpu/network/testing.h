// SPDX-License-Identifier: Apache-2.0
// Plans with and without a device. Only tests include this.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "halftone/gpu/network/step_device.h"
#include "halftone/gpu/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/test_graphs.h"

namespace halftone::gpu {

/// Tests of networks on a device; they are skipped where there is none.
class OnStepDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (why_no_device().empty()) device = open_step_device(test_device_name());
  }
  static void TearDownTestSuite() { device.reset(); }
  void SetUp() override {
    if (device == nullptr) GTEST_SKIP() << "no device: " << why_no_device();
  }

 public:
  static runtime::PlanSettings options(std::size_t batch) {
    runtime::PlanSettings options{.batch = batch};
    options.execution.float_order = runtime::FloatOrder::kFixed;
    return options;
  }

  /// Normal floats, codes over the whole range of their type, and sums of these.
  static std::vector<ir::Tensor> random_inputs(const ir::Graph& graph, Random& random) {
    using enum ir::ElementType;
    std::vector<ir::Tensor> inputs;
    for (const ir::ValueId id : graph.untied(graph.inputs())) {
      const ir::ValueType& type = graph.value(id).type;
      const ir::ElementType element = type.encoding.element;
      if (element == kFloat32) {
        inputs.push_back(ir::test::random_tensor(type.shape, random));
        continue;
      }
      const double low = element == kInt8 ? -128 : element == kUint8 ? 0 : -3e5;
      const double high = element == kInt8 ? 128 : element == kUint8 ? 256 : 3e5;
      inputs.push_back(ir::test::uniform_tensor(type.shape, random, low, high).cast(element));
    }
    return inputs;
  }

  /// Runs a graph on random inputs, twice, with and without the device, and expects the same bytes.
  /// @return the plan with the device
  static std::shared_ptr<const runtime::Plan> expect_same_bytes(const ir::Graph& graph,
                                                                std::size_t batch) {
    runtime::PlanSettings how = options(batch);
    runtime::Session processor(runtime::make_plan(graph, how));
    how.execution.device = device;
    auto plan = runtime::make_plan(graph, how);
    runtime::Session session(plan);
    Random random(3);
    for (int round = 0; round < 2; ++round) {
      const auto inputs = random_inputs(processor.plan().graph(), random);
      EXPECT_TRUE(ir::test::same_bytes(session.run(inputs), processor.run(inputs)))
          << "batch " << batch << ", round " << round;
    }
    return plan;
  }

  /// The same; all steps must run on the device.
  static void expect_on_device(const ir::Graph& graph, std::size_t batch) {
    const auto plan = expect_same_bytes(graph, batch);
    for (const runtime::PlanStep& step : plan->steps()) {
      EXPECT_EQ(step.on_processor, "") << step.op << " " << step.kernel;
    }
  }

  /// The same of operators that a device runs only beside a layer.
  static void expect_beside_layer(ir::Graph graph, std::size_t batch) {
    Random random(9);
    const auto x = graph.add_input("beside", ir::test::float_type({1, 4}));
    const auto w = graph.add_constant("w", ir::test::random_tensor({2, 4}, random));
    graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {x, w}));
    expect_on_device(graph, batch);
  }

  inline static std::shared_ptr<const runtime::StepDevice> device{};
};

}  // namespace halftone::gpu

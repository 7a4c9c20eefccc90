// SPDX-License-Identifier: Apache-2.0
// Test support: checks of the outputs of a plan.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "halftone/base/memory_testing.h"
#include "halftone/ir/testing.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/plan/planner.h"
#include "halftone/runtime/test_graphs.h"

namespace halftone::runtime::testing {

using ir::test::expect_near;
using ir::test::run_reference;
using ir::test::same_bytes;

/// Random inputs of the types of a plan: normally distributed, or small integers.
inline std::vector<ir::Tensor> random_inputs(const ir::Graph& graph, Random& random) {
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : graph.inputs()) {
    const ir::ValueType& type = graph.value(id).type;
    ir::Tensor tensor = random_tensor(type.shape, random);
    if (type.encoding.element != ir::ElementType::kFloat32) {
      for (float& value : tensor.as<float>()) value *= 20;
      tensor = tensor.cast(type.encoding.element);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// The kernel of float32 layers in the fastest order: oneDNN's where it is linked.
inline std::string float_kernel() {
  return onednn_implementations().fully_connected != nullptr ? "onednn_f32" : "fixed_order_f32";
}

/// The kernel that computes the last step.
inline std::string kernel_of(const Plan& plan) { return plan.steps().back().kernel; }

/// Runs a session on memory of ours, twice on other addresses, and expects what it returns of its
/// own.
inline void expect_same_on_callers_memory(Session& session, const std::vector<ir::Tensor>& inputs,
                                          const std::vector<ir::Tensor>& expected) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::deque<GuardedMemory> memory;
    std::vector<std::span<const std::byte>> in;
    std::vector<std::span<std::byte>> out;
    for (const ir::Tensor& input : inputs) {
      const auto bytes = memory.emplace_back(input.bytes().size()).bytes();
      std::ranges::copy(input.bytes(), bytes.begin());
      in.emplace_back(bytes);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      out.push_back(memory.emplace_back(session.output_bytes(i)).bytes());
    }
    session.run(in, out);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(out[i], expected[i].bytes())) << "output " << i;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(in[i], inputs[i].bytes())) << "input " << i << " changed";
    }
    if (repeat == 0) {
      EXPECT_TRUE(same_bytes(session.run(inputs), expected));
    }
  }
}

/// Runs a graph on random inputs and compares it with the reference implementation; returns the
/// plan.
inline std::shared_ptr<const Plan> expect_reference_result(const ir::Graph& graph,
                                                           const PlanSettings& options,
                                                           float tolerance,
                                                           std::uint64_t seed = 7) {
  Random random(seed);
  auto plan = make_plan(graph, options);
  Session session(plan);
  const auto inputs = random_inputs(plan->graph(), random);
  const ir::Graph whole = prepare(graph, options).graph;
  const auto outputs = session.run(inputs);
  expect_near(outputs, run_reference(whole, inputs), tolerance);
  expect_same_on_callers_memory(session, inputs, outputs);
  return plan;
}

}  // namespace halftone::runtime::testing

// SPDX-License-Identifier: Apache-2.0
// Test support: checks of the outputs of a plan.
#pragma once

#include <string>
#include <vector>

#include "halftone/ir/testing.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/plan/prepare.h"
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

/// Runs a graph on random inputs and compares it with the reference implementation; returns the
/// plan.
inline std::shared_ptr<const Plan> expect_reference_result(const ir::Graph& graph,
                                                           const PlanOptions& options,
                                                           float tolerance,
                                                           std::uint64_t seed = 7) {
  Random random(seed);
  auto plan = make_plan(graph, options);
  Session session(plan);
  const auto inputs = random_inputs(plan->graph(), random);
  const ir::Graph whole = prepare(graph, options).graph;
  expect_near(session.run(inputs), run_reference(whole, inputs), tolerance);
  return plan;
}

}  // namespace halftone::runtime::testing

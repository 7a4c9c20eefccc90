// SPDX-License-Identifier: Apache-2.0
// For tests: what a plan must compute.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "halftone/runtime/session.h"
#include "halftone/runtime/test_graphs.h"

namespace halftone::runtime::testing {

/// The outputs of a graph of known extents by the operators' definitions, node by node.
inline std::vector<ir::Tensor> evaluate(const ir::Graph& graph,
                                        const std::vector<ir::Tensor>& inputs) {
  std::map<ir::ValueId, ir::Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i]] = inputs[i].clone();
  }
  const auto held = [&](ir::ValueId id) -> const ir::Tensor* {
    if (id == ir::kAbsent) return nullptr;
    if (const ir::Constant* constant = graph.constant(id); constant && !values.contains(id)) {
      const auto* dense = std::get_if<ir::Tensor>(constant);
      values[id] = dense != nullptr ? dense->clone() : ir::to_float(*constant);
    }
    return &values.at(id);
  };
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    std::vector<const ir::Tensor*> operands;
    for (const ir::ValueId input : node.inputs) operands.push_back(held(input));
    values[node.output] = ir::evaluate_operator(node.op, operands);
  }
  std::vector<ir::Tensor> outputs;
  for (const ir::ValueId id : graph.outputs()) outputs.push_back(held(id)->clone());
  return outputs;
}

/// Inputs of the types a plan wants: normal numbers, or small integers.
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

/// Equal types, and numbers that differ by at most tolerance (1 + |expected|); NaN equals NaN.
inline void expect_near(const std::vector<ir::Tensor>& found,
                        const std::vector<ir::Tensor>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].type(), expected[i].type()) << "output " << i;
    const ir::Tensor x = found[i].cast(ir::ElementType::kFloat32);
    const ir::Tensor y = expected[i].cast(ir::ElementType::kFloat32);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float a = x.as<float>()[k];
      const float b = y.as<float>()[k];
      if (std::isnan(b) && std::isnan(a)) continue;
      if (a == b) continue;
      ASSERT_LE(std::abs(a - b), tolerance * (1 + std::abs(b)))
          << "output " << i << ", element " << k << ": " << a << " for " << b;
    }
  }
}

inline bool same_bytes(const std::vector<ir::Tensor>& a, const std::vector<ir::Tensor>& b) {
  return std::ranges::equal(a, b, [](const ir::Tensor& l, const ir::Tensor& r) {
    return l.type() == r.type() && std::ranges::equal(l.bytes(), r.bytes());
  });
}

/// Runs a graph on random inputs and compares it with its definition; returns the plan.
inline std::shared_ptr<const Plan> expect_defined_result(const ir::Graph& graph,
                                                         const PlanOptions& options,
                                                         float tolerance, std::uint64_t seed = 7) {
  Random random(seed);
  auto plan = make_plan(graph, options);
  Session session(plan);
  const auto inputs = random_inputs(plan->graph(), random);
  expect_near(session.run(inputs), evaluate(plan->graph(), inputs), tolerance);
  return plan;
}

}  // namespace halftone::runtime::testing

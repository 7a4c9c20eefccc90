// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/testing.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace halftone::ir::test {
namespace {

std::size_t batch_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (graph.value(graph.inputs()[i]).type.shape.is_static()) continue;
    return static_cast<std::size_t>(inputs[i].shape()[0]);
  }
  return 1;
}

}  // namespace

std::vector<float> numbers(const Tensor& tensor) {
  return elements<float>(tensor.cast(ElementType::kFloat32));
}

std::vector<Tensor> run_reference(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::size_t batch = batch_of(graph, inputs);
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.emplace(graph.inputs()[i], inputs[i].clone());
  }
  const auto value = [&](ValueId id) -> const Tensor* {
    if (id == kAbsent) return nullptr;
    if (const Constant* constant = graph.constant(id); constant != nullptr) {
      const auto* dense = std::get_if<Tensor>(constant);
      values.try_emplace(id, dense != nullptr ? dense->clone() : to_float(*constant));
    }
    return &values.at(id);
  };
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::vector<const Tensor*> operands;
    for (const ValueId input : node.inputs) operands.push_back(value(input));
    values.emplace(node.output, evaluate_operator(with_batch(node.op, batch), operands));
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(value(id)->clone());
  return outputs;
}

void expect_near(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                 float tolerance, const std::string& context) {
  ASSERT_EQ(found.size(), expected.size()) << context;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].type(), expected[i].type()) << "output " << i << context;
    const std::vector<float> x = numbers(found[i]);
    const std::vector<float> y = numbers(expected[i]);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k]))) continue;
      ASSERT_LE(std::abs(x[k] - y[k]), tolerance * (1 + std::abs(y[k])))
          << "output " << i << ", element " << k << ": " << x[k] << " for " << y[k] << context;
    }
  }
}

bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& l, const Tensor& r) {
    return l.type() == r.type() && std::ranges::equal(l.bytes(), r.bytes());
  });
}

void expect_same_function(const Graph& found, const Graph& expected, const SameFunction& how) {
  ASSERT_EQ(found.inputs().size(), expected.inputs().size());
  Random random(21);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < expected.inputs().size(); ++i) {
    const ValueType& type = expected.value(expected.inputs()[i]).type;
    EXPECT_EQ(found.value(found.inputs()[i]).type, type);
    inputs.push_back(uniform_tensor(type.shape.with_batch(how.batch), random, how.low, how.high)
                         .cast(type.encoding.element));
  }
  expect_near(run_reference(found, inputs), run_reference(expected, inputs), how.tolerance);
}

}  // namespace halftone::ir::test

// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/testing.h"

#include <algorithm>
#include <cmath>

namespace halftone::ir::test {

std::vector<float> numbers(const Tensor& tensor) {
  return elements<float>(tensor.cast(ElementType::kFloat32));
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

Graph running_sum() {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({2}));
  const ValueId sum = graph.add_input("sum", float_type({2}));
  const ValueId now = graph.add_node("now", Binary{BinaryKind::kAdd, {}}, {sum, x});
  graph.add_output(graph.add_node("y", Reshape{{2}}, {now}));
  graph.tie(sum, graph.add_node("sum/after", Reshape{{2}}, {now}));
  return graph;
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

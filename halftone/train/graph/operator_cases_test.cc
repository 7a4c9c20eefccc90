// SPDX-License-Identifier: Apache-2.0
// The table of operator cases in libtorch: outputs, gradients, and gradients of the tape.
#include "halftone/ir/testing/operator_cases.h"

#include <torch/autograd.h>

#include <algorithm>
#include <set>

#include "halftone/gradient/testing.h"
#include "halftone/train/graph/testing.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

using ir::test::CaseGraph;

/// Whether libtorch computes the node of a case.
bool is_supported(const CaseGraph& test) {
  return TorchGraph(test.graph).is_differentiable(test.node);
}

TEST(TorchOperators, AreTheirDefinition) {
  std::set<std::string_view> compared;
  for (const ir::test::OperatorCase& test : ir::test::operator_cases()) {
    const CaseGraph graph = graph_of(test);
    if (!is_supported(graph)) continue;
    compared.insert(name_of(test.op));
    ir::test::expect_near(forward(TorchGraph(graph.graph), graph.inputs),
                          ir::test::run_reference(graph.graph, graph.inputs), tolerance_of(graph),
                          describe(test));
  }
  EXPECT_GE(compared.size(), 70U);
}

TEST(TorchOperators, HaveTheSlopes) {
  std::set<std::string_view> compared;
  for (const ir::test::OperatorCase& test : ir::test::operator_cases()) {
    const CaseGraph graph = graph_of(test);
    // Rounding is a staircase whose gradient is that of the identity.
    if (std::holds_alternative<ir::FakeQuantize>(test.op)) continue;
    if (!has_slopes(graph) || !is_supported(graph)) continue;
    compared.insert(name_of(test.op));
    TorchGraph torch(graph.graph, at::kDouble);
    expect_slopes(torch, graph.inputs, describe(test));
  }
  EXPECT_GE(compared.size(), 70U);
}

/// The gradients of the weighted sum of the outputs, computed in float64, by float input.
std::vector<at::Tensor> torch_gradients(const CaseGraph& test) {
  const TorchGraph graph(test.graph, at::kDouble);
  std::vector<at::Tensor> tensors;
  std::vector<at::Tensor> leaves;
  for (const ir::Tensor& input : test.inputs) {
    tensors.push_back(to_torch(input));
    if (input.element() != ir::ElementType::kFloat32) continue;
    tensors.back() = tensors.back().to(at::kDouble).requires_grad_();
    leaves.push_back(tensors.back());
  }
  const at::Tensor y = graph.forward(tensors)[0];
  const std::vector<float> weights = gradient::output_weights(static_cast<std::size_t>(y.numel()));
  const at::Tensor sum = (y * at::tensor(weights).to(at::kDouble).reshape(y.sizes())).sum();
  return torch::autograd::grad({sum}, leaves);
}

/// Both are sums over the outputs, of which the tape's are rounded to float32.
TEST(TorchOperators, HaveTheGradientsOfTheTape) {
  std::set<std::string_view> compared;
  for (const ir::test::OperatorCase& test : ir::test::operator_cases()) {
    const CaseGraph graph = graph_of(test);
    if (!has_slopes(graph) || !is_supported(graph)) continue;
    const auto tape = gradient::tape_of(graph, graph.float_inputs);
    if (!tape) continue;
    compared.insert(name_of(test.op));
    const auto found = gradient::case_gradients(graph, *tape);
    const std::vector<at::Tensor> expected = torch_gradients(graph);
    const auto num_outputs = static_cast<float>(tape->data(graph.graph.outputs()[0]).size());
    for (std::size_t input = 0; input < found.size(); ++input) {
      const at::Tensor flat = expected[input].to(at::kFloat).contiguous().flatten();
      float largest = 0;
      for (const float g : found[input]) largest = std::max(largest, std::abs(g));
      const float tolerance =
          tolerance_of(graph) * (1 + largest) + num_outputs * 0x1p-24F * (1 + largest);
      for (std::size_t i = 0; i < found[input].size(); ++i) {
        EXPECT_NEAR(found[input][i], flat.data_ptr<float>()[i], tolerance)
            << describe(test) << ", input " << input << " element " << i;
      }
    }
  }
  EXPECT_GE(compared.size(), 50U);
}

}  // namespace
}  // namespace halftone::train

// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/testing.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

ir::Tensor random_input(const OperatorCase& test, std::size_t i, Random& random) {
  ir::Tensor result = ir::test::random_tensor(test.shapes[i], random);
  for (float& x : result.as<float>()) {
    x = test.positive ? 0.5F + std::abs(x) : x + (x < 0 ? -0.1F : 0.1F);
    x *= test.scale;
  }
  return result;
}

/// sum_i weight_i y_i with fixed weights.
at::Tensor weighted_sum(const at::Tensor& y) {
  return (y * at::arange(1, y.numel() + 1, at::kDouble).mul(0.7).sin().reshape(y.sizes())).sum();
}

/// Compares a gradient with central differences along each element of a leaf.
void expect_slope(const TorchGraph& graph, std::span<const at::Tensor> inputs, at::Tensor leaf,
                  const at::Tensor& gradient, const std::string& context) {
  const at::NoGradGuard no_gradient;
  ASSERT_TRUE(gradient.defined()) << context;
  double* x = leaf.data_ptr<double>();
  const at::Tensor flat = gradient.contiguous();
  for (std::int64_t i = 0; i < leaf.numel(); ++i) {
    constexpr double kStep = 1e-5;
    const double middle = x[i];
    x[i] = middle + kStep;
    const double above = weighted_sum(graph.forward(inputs)[0]).item<double>();
    x[i] = middle - kStep;
    const double below = weighted_sum(graph.forward(inputs)[0]).item<double>();
    x[i] = middle;
    // The error is the third derivative times 1e-10, plus rounding, 1e-16 over the step.
    const double found = flat.data_ptr<double>()[i];
    ASSERT_NEAR(found, (above - below) / (2 * kStep), 1e-6 * (1 + std::abs(found)))
        << context << ", element " << i;
  }
}

}  // namespace

OneNode one_node(const OperatorCase& test) {
  Random random(5);
  OneNode result{{}, {}, {}};
  std::vector<ir::ValueId> inputs;
  for (std::size_t i = 0; i < test.shapes.size(); ++i) {
    const FixedInput* fixed = nullptr;
    for (const FixedInput& other : test.fixed) fixed = other.input == i ? &other : fixed;
    if (fixed != nullptr) {
      const ir::Tensor numbers = ir::test::floats(test.shapes[i], fixed->numbers);
      inputs.push_back(result.graph.add_constant("fixed", numbers.cast(fixed->element)));
    } else if (test.shapes[i] == kNoInput) {
      inputs.push_back(ir::kAbsent);
    } else {
      inputs.push_back(
          result.graph.add_input("x" + std::to_string(i), ir::test::float_type(test.shapes[i])));
      result.inputs.push_back(random_input(test, i, random));
    }
  }
  const ir::ValueId output = result.graph.add_node("node", test.op, inputs);
  result.node = *result.graph.producer(output);
  result.graph.add_output(output);
  return result;
}

std::string describe(const OperatorCase& test) {
  std::string text = " " + std::string(name_of(test.op)) + " " + attributes_of(test.op);
  for (const ir::Shape& shape : test.shapes) text += " " + shape.to_string();
  return text;
}

std::vector<ir::Tensor> forward(const TorchGraph& graph, const std::vector<ir::Tensor>& inputs,
                                const ForwardHooks& hooks) {
  std::vector<at::Tensor> tensors;
  for (const ir::Tensor& input : inputs) tensors.push_back(to_torch(input));
  std::vector<ir::Tensor> outputs;
  const auto ids = graph.source().outputs();
  for (const at::Tensor& output : graph.forward(tensors, hooks)) {
    outputs.push_back(
        to_ir(output, graph.source().value(ids[outputs.size()]).type.encoding.element));
  }
  return outputs;
}

void expect_defined(const OperatorCase& test) {
  const OneNode node = one_node(test);
  const TorchGraph graph(node.graph);
  EXPECT_TRUE(graph.is_differentiable(node.node)) << describe(test);
  ir::test::expect_near(forward(graph, node.inputs),
                        ir::test::run_reference(node.graph, node.inputs), 1e-5F, describe(test));
}

void expect_slopes(TorchGraph& graph, const std::vector<ir::Tensor>& inputs,
                   const std::string& context) {
  std::vector<at::Tensor> tensors;
  std::vector<at::Tensor> leaves;
  for (const ir::Tensor& input : inputs) {
    tensors.push_back(to_torch(input));
    if (!tensors.back().is_floating_point()) continue;
    tensors.back() = tensors.back().to(at::kDouble).requires_grad_();
    leaves.push_back(tensors.back());
  }
  for (const TorchParameter& parameter : graph.parameters()) leaves.push_back(parameter.tensor);
  const at::Tensor loss = weighted_sum(graph.forward(tensors)[0]);
  const auto gradients =
      torch::autograd::grad({loss}, leaves, {}, /*retain_graph=*/{}, false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    expect_slope(graph, tensors, leaves[i], gradients[i], context + " leaf " + std::to_string(i));
  }
}

void expect_slopes(const OperatorCase& test) {
  const OneNode node = one_node(test);
  TorchGraph graph(node.graph, at::kDouble);
  expect_slopes(graph, node.inputs, describe(test));
}

void expect_defined_and_slopes(const std::vector<OperatorCase>& cases) {
  for (const OperatorCase& test : cases) {
    expect_defined(test);
    expect_slopes(test);
  }
}

}  // namespace halftone::train

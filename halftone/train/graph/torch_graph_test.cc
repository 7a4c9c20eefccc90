// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_graph.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <thread>

#include "halftone/ir/verify.h"
#include "halftone/train/graph/testing.h"
#include "halftone/train/graph/torch_memory.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

using ir::ActivationKind;
using ir::ValueId;
using ir::test::expect_error;
using ir::test::expect_near;
using ir::test::float_type;
using ir::test::random_tensor;
using testing::ElementsAre;

/// The names of all parameters.
std::vector<std::string> names(const TorchGraph& graph) {
  std::vector<std::string> found;
  for (const TorchParameter& parameter : graph.parameters()) found.push_back(parameter.name);
  return found;
}

/// A small network of images with a symbolic batch: conv, pool, normalize, flatten, dense.
ir::Graph image_network() {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({ir::kBatch, 6, 5, 2}));
  const ValueId mean = graph.add_constant("mean", ir::test::floats({2}, {0.5F, -0.25F}));
  const ValueId centred =
      graph.add_node("centred", ir::Binary{ir::BinaryKind::kSub, {}}, {x, mean});
  const ValueId conv =
      graph.add_node("conv", ir::Conv{{{1, 1}, {1, 1}, {1, 0}, {1, 1}}, 1, {ActivationKind::kTanh}},
                     {centred, graph.add_constant("conv.w", random_tensor({4, 3, 2, 2}, 1)),
                      graph.add_constant("conv.b", random_tensor({4}, 2))});
  const ValueId pool = graph.add_node(
      "pool", ir::Pool{ir::PoolKind::kAverage, {2, 2}, {{2, 2}, {1, 1}, {0, 0}, {0, 1}}}, {conv});
  const ValueId normal = graph.add_node("normal", ir::Normalize{{3}}, {pool});
  const ValueId scaled =
      graph.add_node("scaled", ir::Binary{ir::BinaryKind::kMul, {}},
                     {normal, graph.add_constant("gamma", random_tensor({4}, 3))});
  const ValueId flat = graph.add_node("flat", ir::Reshape{{ir::kBatch, 36}}, {scaled});
  const ValueId dense =
      graph.add_node("dense", ir::FullyConnected{},
                     {flat, graph.add_constant("dense.w", random_tensor({3, 36}, 4)),
                      graph.add_constant("dense.b", random_tensor({3}, 5))});
  graph.add_output(graph.add_node("y", ir::Softmax{1, 1, true}, {dense}));
  return graph;
}

TEST(TorchGraph, IsTheGraphForEveryBatch) {
  const ir::Graph source = image_network();
  const TorchGraph graph(source);
  EXPECT_THAT(names(graph), ElementsAre("conv.w", "conv.b", "gamma", "dense.w", "dense.b"));
  for (const ir::Dim batch : {1, 3}) {
    const auto inputs = ir::test::list(random_tensor({batch, 6, 5, 2}, 9));
    expect_near(forward(graph, inputs), ir::test::run_reference(source, inputs), 1e-5F);
  }
}

TEST(TorchGraph, HasTheSlopesOfItsParameters) {
  TorchGraph graph(image_network(), at::kDouble);
  expect_slopes(graph, ir::test::list(random_tensor({2, 6, 5, 2}, 9)));
}

TEST(TorchGraph, StoresParametersBack) {
  const ir::Graph source = image_network();
  const TorchGraph graph(source);
  const auto inputs = ir::test::list(random_tensor({2, 6, 5, 2}, 9));
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(graph.graph(), inputs),
                                   ir::test::run_reference(source, inputs)));
  {
    const at::NoGradGuard no_gradient;
    for (const TorchParameter& parameter : graph.parameters()) {
      at::Tensor(parameter.tensor).mul_(0.5).add_(0.01);
    }
  }
  const ir::Graph stored = graph.graph();
  ir::verify(stored);
  expect_near(ir::test::run_reference(stored, inputs), forward(graph, inputs), 1e-5F);
  EXPECT_THAT(names(TorchGraph(stored)), testing::ElementsAreArray(names(graph)));
}

/// y = layer(encode(x)), the weights in two bits.
ir::Graph encoded_network() {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({2, 4}));
  const ValueId codes = graph.add_node("codes", ir::Encode{ir::test::odd_encoding()}, {x});
  const auto encoding = ir::test::odd_encoding();
  const ir::Tensor numbers = random_tensor({3, 4}, 6);
  ir::EncodedTensor w{{3, 4}, encoding, {}};
  w.codes = numerics::encode({numbers.as<float>(), 3, 4}, *encoding);
  const ValueId weights = graph.add_constant("w", std::move(w));
  graph.add_output(graph.add_node("y", ir::FullyConnected{}, {codes, weights}));
  return graph;
}

TEST(TorchGraph, TrainsTheLevelsOfEncodedWeights) {
  const ir::Graph source = encoded_network();
  const TorchGraph graph(source);
  ASSERT_THAT(names(graph), ElementsAre("w"));
  const auto inputs = ir::test::list(random_tensor({2, 4}, 7));
  const auto expected = ir::test::run_reference(source, inputs);
  expect_near(forward(graph, inputs), expected, 1e-6F);
  // Without new codes the weights are unchanged.
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(graph.graph(), inputs), expected));
  const ValueId w = graph.parameters()[0].id;
  auto dense = std::make_shared<const ir::Constant>(random_tensor({3, 4}, 8));
  const ir::Graph replaced = graph.graph({{w, dense}});
  ir::verify(replaced);
  EXPECT_EQ(names(TorchGraph(replaced)), names(graph));
  EXPECT_FALSE(ir::test::same_bytes(ir::test::run_reference(replaced, inputs), expected));
  auto wrong = std::make_shared<const ir::Constant>(random_tensor({4, 3}, 8));
  expect_error(ErrorKind::kShape, "constant 'w': expected [3, 4], found [4, 3]", [&] {
    (void)graph.graph({{w, wrong}});
  });
}

TEST(TorchGraph, PassesGradientsStraightThroughAnEncode) {
  const TorchGraph graph(encoded_network());
  const at::Tensor x = to_torch(random_tensor({2, 4}, 7)).requires_grad_();
  const at::Tensor y = graph.forward(std::vector{x})[0];
  const at::Tensor weight = graph.parameters()[0].tensor;
  const auto gradients = torch::autograd::grad({y.sum()}, {x, weight});
  EXPECT_TRUE(at::equal(gradients[0], weight.sum(0).expand({2, 4})));
  // The nearest of -3, -1, 1 and 3.
  const at::Tensor levels = ((x.detach() + 1) / 2).round().mul(2).sub(1).clamp(-3, 3);
  EXPECT_TRUE(at::equal(gradients[1], levels.sum(0).expand({3, 4})));
}

TEST(TorchGraph, AsksHooksForWhatLayersRead) {
  const ir::Graph source = image_network();
  const TorchGraph graph(source);
  const auto inputs = ir::test::list(random_tensor({2, 6, 5, 2}, 9));
  std::vector<std::string> asked;
  ForwardHooks hooks;
  hooks.input = [&](ir::NodeId node, std::size_t i, const at::Tensor& x) {
    asked.push_back(source.node(node).name + std::to_string(i));
    return x;
  };
  EXPECT_TRUE(ir::test::same_bytes(forward(graph, inputs, hooks), forward(graph, inputs)));
  EXPECT_THAT(asked, ElementsAre("conv0", "conv1", "conv2", "dense0", "dense1", "dense2"));
  hooks.input = [](ir::NodeId, std::size_t i, const at::Tensor& x) {
    return i == 1 ? at::zeros_like(x) : x;
  };
  // Without weights the output of the last layer is its bias, for every sample.
  const auto outputs = forward(graph, inputs, hooks);
  const auto y = outputs[0].as<float>();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(y[i], y[3 + i]);
}

TEST(TorchGraph, AsksHooksForGradientsByWhatLayersGive) {
  const ir::Graph source = image_network();
  const TorchGraph graph(source);
  const std::vector<at::Tensor> in{to_torch(random_tensor({2, 6, 5, 2}, 9))};
  std::vector<std::string> asked;
  ForwardHooks hooks;
  hooks.gradient = [&](ir::NodeId node, const at::Tensor& g) {
    asked.push_back(source.node(node).name);
    return 2 * g;
  };
  std::vector<at::Tensor> parameters;
  for (const TorchParameter& parameter : graph.parameters()) parameters.push_back(parameter.tensor);
  const auto slopes = [&](const ForwardHooks& with) {
    const at::Tensor y = graph.forward(in, with)[0];
    EXPECT_TRUE(asked.empty());
    return torch::autograd::grad({y.square().sum()}, parameters);
  };
  const std::vector<at::Tensor> plain = slopes({});
  const std::vector<at::Tensor> changed = slopes(hooks);
  EXPECT_THAT(asked, ElementsAre("dense", "conv"));
  // Each layer doubles the gradient; that of the convolution passes through both layers.
  const std::vector<double> factors{4, 4, 2, 2, 2};
  for (std::size_t i = 0; i < factors.size(); ++i) {
    EXPECT_TRUE(changed[i].equal(factors[i] * plain[i])) << graph.parameters()[i].name;
  }
}

TEST(TorchGraph, AsksHooksToEncode) {
  const TorchGraph graph(encoded_network());
  const auto inputs = ir::test::list(random_tensor({2, 4}, 7));
  ForwardHooks hooks;
  hooks.encode = [](ir::NodeId, const at::Tensor& x) { return x; };
  const at::Tensor expected =
      at::matmul(to_torch(inputs[0]), graph.parameters()[0].tensor.t()).detach();
  expect_near(forward(graph, inputs, hooks), ir::test::list(to_ir(expected)), 1e-5F);
}

TEST(TorchGraph, NamesAllNodesWithoutAGradient) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({2, 3}));
  // Any operator may precede the parameters, or follow them if it only outputs indices.
  const ValueId before = graph.add_node("before", ir::Unary{{ActivationKind::kFloor}}, {x});
  const ValueId w = graph.add_constant("w", random_tensor({3, 3}, 1));
  const ValueId layer = graph.add_node("layer", ir::FullyConnected{}, {before, w});
  const ValueId sign = graph.add_node("sign", ir::Unary{{ActivationKind::kSign}}, {layer});
  const ValueId best = graph.add_node("best", ir::TopK{1, 2}, {layer});
  graph.set_outputs({layer, best});
  const TorchGraph fine(graph);
  const auto inputs = ir::test::list(random_tensor({2, 3}, 2));
  expect_near(forward(fine, inputs), ir::test::run_reference(graph, inputs), 1e-5F);
  const ValueId second =
      graph.add_node("second", ir::FullyConnected{{ActivationKind::kRound}}, {layer, w});
  graph.set_outputs({sign, second});
  expect_error(ErrorKind::kUnsupported,
               "no gradient for node 'sign' (Sign), node 'second' (FullyConnected)",
               [&] { TorchGraph{graph}; });
}

TEST(TorchGraph, CutsOffGradientsWhereItComputesByDefinition) {
  ir::Graph source;
  const ValueId x = source.add_input("x", float_type({2, 3}));
  const ValueId floor = source.add_node("floor", ir::Unary{{ActivationKind::kFloor}}, {x});
  const ValueId w = source.add_constant("w", random_tensor({3, 3}, 1));
  source.add_output(source.add_node("y", ir::FullyConnected{}, {floor, w}));
  const TorchGraph graph(source);
  const at::Tensor input = to_torch(random_tensor({2, 3}, 2)).requires_grad_();
  const at::Tensor y = graph.forward(std::vector{input})[0];
  const auto gradients =
      torch::autograd::grad({y.sum()}, {input, graph.parameters()[0].tensor}, {}, {}, false, true);
  EXPECT_FALSE(gradients[0].defined());
  EXPECT_TRUE(at::allclose(gradients[1], input.detach().floor().sum(0).expand({3, 3})));
}

TEST(TorchGraph, RefusesInputsThatDoNotFit) {
  const TorchGraph graph(image_network());
  const at::Tensor wrong = at::zeros({2, 5, 6, 2});
  expect_error(ErrorKind::kShape,
               "input 'x': expected float32[N, 6, 5, 2], found Float[2, 5, 6, 2]",
               [&] { (void)graph.forward(std::vector{wrong}); });
  expect_error(ErrorKind::kShape, "expected 1 inputs, found 2", [&] {
    (void)graph.forward(std::vector{wrong, wrong});
  });
  const at::Tensor integers = at::zeros({2, 6, 5, 2}, at::kLong);
  expect_error(ErrorKind::kShape, "found Long[2, 6, 5, 2]",
               [&] { (void)graph.forward(std::vector{integers}); });
}

TEST(TorchGraph, NamesTheNodeThatAHookGivesTheWrongShape) {
  const TorchGraph graph(image_network());
  ForwardHooks hooks;
  hooks.input = [](ir::NodeId, std::size_t i, const at::Tensor& x) { return i == 1 ? x[0] : x; };
  const at::Tensor x = at::zeros({2, 6, 5, 2});
  expect_error(ErrorKind::kInternal,
               "node 'conv' (Conv): ", [&] { (void)graph.forward(std::vector{x}, hooks); });
}

TEST(TorchGraph, RunsOnSeveralThreadsAtOnce) {
  constexpr std::size_t kThreads = 4;
  prepare_torch(kThreads);  // several threads split sums, which changes bits
  const TorchGraph graph(image_network());
  std::vector<at::Tensor> leaves;
  for (const TorchParameter& parameter : graph.parameters()) leaves.push_back(parameter.tensor);
  const auto gradients = [&](std::uint64_t seed) {
    const at::Tensor x = to_torch(random_tensor({2, 6, 5, 2}, seed));
    return torch::autograd::grad({graph.forward(std::vector{x})[0].square().sum()}, leaves);
  };
  std::vector<torch::autograd::variable_list> found(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) found[t] = gradients(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    const auto expected = gradients(t);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_TRUE(at::equal(found[t][i], expected[i])) << t << ", " << i;
    }
  }
}

TEST(TorchTensor, RoundTripsEveryElement) {
  using ir::ElementType;
  for (const ElementType element :
       {ElementType::kFloat32, ElementType::kInt8, ElementType::kUint8, ElementType::kInt16,
        ElementType::kUint16, ElementType::kInt32, ElementType::kUint32, ElementType::kInt64,
        ElementType::kUint64, ElementType::kBool}) {
    const auto numbers = ir::test::list(ir::test::counting({2, 3}).cast(element));
    const at::Tensor tensor = to_torch(numbers[0]);
    EXPECT_EQ(tensor.element_size(), ir::size_bytes(element)) << ir::to_string(element);
    EXPECT_TRUE(ir::test::same_bytes(ir::test::list(to_ir(tensor, element)), numbers))
        << ir::to_string(element);
  }
  expect_error(ErrorKind::kShape, "expected elements of Long, found Float",
               [] { to_ir(at::zeros({2}), ElementType::kInt64); });
}

}  // namespace
}  // namespace halftone::train

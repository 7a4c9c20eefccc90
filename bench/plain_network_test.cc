// SPDX-License-Identifier: Apache-2.0
#include "bench/plain_network.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/testing.h"

namespace halftone::bench {
namespace {

using runtime::testing::add_dense_layer;

/// A network of the bundled network's shape with random weights; without softmax, which would hide
/// differences.
ir::Graph make_network(std::optional<int> bits, bool softmax) {
  Random random(4);
  ir::Graph graph;
  auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 784}));
  x = add_dense_layer(graph, x, {"first", 700, bits, ir::ActivationKind::kTanh}, random);
  x = add_dense_layer(graph, x, {"second", 10, bits}, random);
  if (softmax) x = graph.add_node("probabilities", ir::Softmax{1}, {x});
  graph.add_output(x);
  return graph;
}

void expect_same_outputs(const ir::Graph& graph, const std::string& context) {
  PlainNetwork plain(graph);
  runtime::Session session(runtime::make_plan(graph, {.execution = {.int8_activations = false}}));
  Random random(5);
  for (int sample = 0; sample < 10; ++sample) {
    const ir::Tensor x = ir::test::uniform_tensor({1, 784}, random, 0, 1);
    std::vector<ir::Tensor> found;
    found.emplace_back(ir::ElementType::kFloat32, ir::Shape{1, 10});
    plain.run(x.as<float>(), found.front().as<float>());
    ir::test::expect_near(found, session.run({&x, 1}), 1e-4F, context);
  }
}

TEST(PlainNetwork, EqualsTheRuntimeUpToRounding) {
  for (const int bits : {1, 2, 3}) {
    expect_same_outputs(make_network(bits, false), std::to_string(bits) + " bits");
    expect_same_outputs(make_network(bits, true), std::to_string(bits) + " bits, softmax");
  }
}

TEST(PlainNetwork, RejectsFloatNetworks) {
  const ir::Graph graph = make_network(std::nullopt, true);
  expect_error(ErrorKind::kUnsupported, "node 'first' (FullyConnected): expected layers of encoded",
               [&] { PlainNetwork network(graph); });
}

}  // namespace
}  // namespace halftone::bench

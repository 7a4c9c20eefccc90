// SPDX-License-Identifier: Apache-2.0
// Latency of a 784-700-10 perceptron, everything included: encoding, tanh, softmax; and of single
// layers in every number system, float32 on oneDNN among them.
#include <benchmark/benchmark.h>

#include "halftone/runtime/session.h"
#include "halftone/runtime/test_graphs.h"

namespace halftone::runtime {
namespace {

/// @param state  range(0): bits, 0 for float32; range(1): batch
void perceptron(benchmark::State& state) {
  testing::Perceptron shape;
  if (state.range(0) != 0) shape.bits = static_cast<int>(state.range(0));
  Session session(make_plan(testing::make_perceptron(shape),
                            {.batch = static_cast<std::size_t>(state.range(1))}));
  Random random(2);
  for (float& pixel : session.input_as<float>(0)) pixel = static_cast<float>(random.uniform());
  for (auto _ : state) {
    session.run();
    benchmark::DoNotOptimize(session.output(0).bytes.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(perceptron)
    ->ArgNames({"bits", "batch"})
    ->ArgsProduct({{0, 1, 2, 3}, {1, 64}})
    ->Unit(benchmark::kMicrosecond);

/// @param state  range(0) to (2): rows, inputs, outputs; range(3), (4): bits of the input and of
///               the weights, 0 for float32; range(5): inputs of a group, 0 for one basis per
///               output
void layer(benchmark::State& state) {
  Random random(3);
  const ir::Dim n = state.range(1);
  const ir::Dim o = state.range(2);
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, n}));
  if (state.range(3) != 0) {
    const auto encoding =
        testing::activation_encoding(static_cast<int>(state.range(3)), true, random);
    x = graph.add_node("encode", ir::Encode{encoding}, {x});
  }
  const auto group = static_cast<std::size_t>(state.range(5));
  const testing::WeightFormat format{
      static_cast<int>(state.range(4)), true,
      group == 0 ? numerics::Granularity::kChannel : numerics::Granularity::kGroup, group};
  const ir::ValueId w =
      format.bits == 0 ? graph.add_constant("w", testing::random_tensor({o, n}, random))
                       : graph.add_constant("w", testing::random_weights(
                                                     static_cast<std::size_t>(o),
                                                     static_cast<std::size_t>(n), format, random));
  graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {x, w}));
  Session session(make_plan(graph, {.batch = static_cast<std::size_t>(state.range(0))}));
  for (float& value : session.input_as<float>(0)) value = static_cast<float>(random.normal());
  for (auto _ : state) {
    session.run();
    benchmark::DoNotOptimize(session.output(0).bytes.data());
  }
  state.SetLabel(session.plan().steps().back().kernel);
}
BENCHMARK(layer)
    ->ArgNames({"m", "n", "o", "x", "w", "group"})
    ->ArgsProduct({{1, 32}, {784}, {700}, {0}, {0, 1, 2, 3, 4}, {0}})
    ->ArgsProduct({{1, 32}, {784}, {700}, {1}, {1}, {0}})
    ->ArgsProduct({{1, 256}, {4096}, {4096}, {0}, {0, 1, 2, 3, 4, 8}, {0}})
    ->ArgsProduct({{1}, {4096}, {4096}, {0}, {1, 2, 3, 4}, {128}})
    ->ArgsProduct({{1, 256}, {4096}, {4096}, {1}, {1}, {0}})
    ->Args({256, 4096, 4096, 2, 2, 0})
    ->Args({256, 4096, 4096, 3, 3, 0})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halftone::runtime

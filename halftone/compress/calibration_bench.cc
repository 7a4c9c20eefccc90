// SPDX-License-Identifier: Apache-2.0
// How the time of quantize() grows with the number of layers.
#include <benchmark/benchmark.h>

#include <string>

#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"

namespace halftone::compress {
namespace {

constexpr ir::Dim kWidth = 64;

/// Layers of one shape, each with a ReLU.
ir::Graph deep_network(std::int64_t num_layers) {
  Random random(1);
  ir::Graph graph;
  ir::ValueId x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, kWidth}));
  for (std::int64_t i = 0; i < num_layers; ++i) {
    x = add_layer(graph, "layer" + std::to_string(i), x,
                  random_tensor({kWidth, kWidth}, random, 0.2F), random, ir::ActivationKind::kRelu);
  }
  graph.add_output(x);
  return graph;
}

/// Seconds per layer should not depend on the number of layers.
void quantize_layers(benchmark::State& state) {
  const ir::Graph graph = deep_network(state.range(0));
  const data::Dataset data = random_dataset(512, kWidth, 2);
  Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  recipe.fit.weights.refine = false;
  QuantizeSettings options;
  if (state.range(1) == 0) options.memory_bytes = 0;
  for (auto _ : state) benchmark::DoNotOptimize(quantize(graph, data, recipe, options).layers);
  state.counters["s_per_layer"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(quantize_layers)
    ->ArgNames({"layers", "cuts"})
    ->ArgsProduct({{50, 100, 200}, {1, 0}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace halftone::compress

// SPDX-License-Identifier: Apache-2.0
// Latency of a 784-700-10 perceptron, everything included: encoding, tanh, softmax.
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

}  // namespace
}  // namespace halftone::runtime

// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

/// Arguments: rows, inputs, outputs, bits of activations and of weights, and whether the weights
/// are stored for look-ups. With offsets and bias.
void BM_BitMatmul(benchmark::State& state) {
  Random random(4);
  const auto m = static_cast<std::size_t>(state.range(0));
  const auto n = static_cast<std::size_t>(state.range(1));
  const auto o = static_cast<std::size_t>(state.range(2));
  const auto x_bits = static_cast<int>(state.range(3));
  const auto w_bits = static_cast<int>(state.range(4));
  const auto x = numerics::random_planes(random, m, n, x_bits);
  const auto x_basis = numerics::random_basis(random, x_bits, true);
  const auto codes = numerics::random_planes(random, o, n, w_bits);
  const auto encoding =
      numerics::random_encoding(random, o, n, w_bits, true, numerics::Granularity::kChannel);
  const auto layout = state.range(5) != 0 ? BitLayout::kLookup : BitLayout::kWords;
  const BitMatmulWeights weights(codes, encoding, numerics::random_floats(random, o), layout);
  std::vector<float> y(m * o);
  for (auto _ : state) {
    bit_matmul(x.planes.words(), x_basis, weights, {0, weights.num_blocks()},
               MatrixView<float>(y, m, o));
    benchmark::ClobberMemory();
  }
  state.counters["binary GOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * n * o) * x_bits * w_bits,
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_BitMatmul)
    ->ArgNames({"m", "n", "o", "x", "w", "lookup"})
    ->ArgsProduct({{1, 32}, {784}, {700}, {1}, {1}, {0, 1}})
    ->ArgsProduct({{1, 32}, {784}, {700}, {2}, {2}, {0, 1}})
    ->ArgsProduct({{1, 32}, {784}, {700}, {3}, {3}, {0, 1}})
    ->ArgsProduct({{1}, {700}, {10}, {1}, {1}, {0, 1}})
    ->ArgsProduct({{1, 256}, {4096}, {4096}, {1}, {1}, {0, 1}})
    ->ArgsProduct({{1}, {4096}, {4096}, {2}, {2}, {0, 1}})
    ->ArgsProduct({{1}, {4096}, {4096}, {3}, {3}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halftone::kernels

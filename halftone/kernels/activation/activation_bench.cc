// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "halftone/kernels/activation/activation.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Function = void (*)(std::span<const float>, std::span<float>) noexcept;

/// Argument: number of elements.
void BM_Activation(benchmark::State& state, Function function) {
  Random random(2);
  const std::vector<float> x =
      numerics::random_floats(random, static_cast<std::size_t>(state.range(0)));
  std::vector<float> y(x.size());
  for (auto _ : state) {
    function(x, y);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(BM_Activation, tanh, tanh)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, exp, exp)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, sigmoid, sigmoid)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, relu, relu)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, hard_swish, hard_swish)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, silu, silu)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, softplus, softplus)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, erf, erf)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, gelu, gelu)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, gelu_tanh, gelu_tanh)->Arg(700);

/// The same with the parameters of ELU and of the common hard sigmoid.
void elu_of_1(std::span<const float> x, std::span<float> y) noexcept { elu(x, 1, 1, y); }
void hard_sigmoid_of_sixth(std::span<const float> x, std::span<float> y) noexcept {
  hard_sigmoid(x, 1.0F / 6, 0.5F, y);
}
BENCHMARK_CAPTURE(BM_Activation, elu, elu_of_1)->Arg(700);
BENCHMARK_CAPTURE(BM_Activation, hard_sigmoid, hard_sigmoid_of_sixth)->Arg(700);

/// Argument: columns of one row.
void BM_Softmax(benchmark::State& state) {
  Random random(3);
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<float> x = numerics::random_floats(random, n);
  std::vector<float> y(n);
  for (auto _ : state) {
    softmax(MatrixView<const float>(x, 1, n), MatrixView<float>(y, 1, n));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Softmax)->Arg(10)->Arg(1000);

}  // namespace
}  // namespace halftone::kernels

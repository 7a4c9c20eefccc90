// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

/// Arguments: rows, inputs, outputs, bits of the weights, inputs per group (0: per channel). With
/// offsets and bias; includes quantizing the activations.
template <typename Weights, auto kMultiply>
void BM_Int8Matmul(benchmark::State& state) {
  Random random(4);
  const auto m = static_cast<std::size_t>(state.range(0));
  const auto n = static_cast<std::size_t>(state.range(1));
  const auto o = static_cast<std::size_t>(state.range(2));
  const auto bits = static_cast<int>(state.range(3));
  const auto group = static_cast<std::size_t>(state.range(4));
  const auto granularity =
      group == 0 ? numerics::Granularity::kChannel : numerics::Granularity::kGroup;
  const auto x = numerics::random_floats(random, m * n);
  const auto codes = numerics::random_planes(random, o, n, bits);
  const auto encoding = numerics::random_encoding(random, o, n, bits, true, granularity, group);
  const Weights weights(codes, encoding, numerics::random_floats(random, o));
  std::vector<std::int8_t> q(m * n);
  std::vector<float> scales(m);
  std::vector<float> y(m * o);
  for (auto _ : state) {
    quantize_rows(MatrixView<const float>(x, m, n), MatrixView<std::int8_t>(q, m, n), scales);
    kMultiply({MatrixView<const std::int8_t>(q, m, n), scales}, weights, {0, weights.num_blocks()},
              MatrixView<float>(y, m, o));
    benchmark::ClobberMemory();
  }
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(weights.size_bytes()),
                                              benchmark::Counter::kIsIterationInvariantRate);
}
/// In the layouts that the current target prefers.
struct Planes : PlaneMatmulWeights {
  Planes(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
         std::span<const float> bias = {})
      : PlaneMatmulWeights(codes, encoding, bias, preferred_plane_layout()) {}
};
struct LevelBytes : LevelMatmulWeights {
  LevelBytes(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
             std::span<const float> bias = {})
      : LevelMatmulWeights(codes, encoding, bias, preferred_byte_levels()) {}
};

BENCHMARK_TEMPLATE(BM_Int8Matmul, Planes, plane_matmul)
    ->Name("BM_PlaneMatmul")
    ->ArgNames({"m", "n", "o", "bits", "group"})
    ->ArgsProduct({{1, 4, 6, 8, 32}, {784}, {700}, {1, 2, 3}, {0}})
    ->ArgsProduct({{1}, {4096}, {4096}, {1, 2, 3, 4}, {0, 128}})
    ->ArgsProduct({{256}, {4096}, {4096}, {1, 2}, {0, 128}})
    ->Unit(benchmark::kMicrosecond);
template <LevelLayout kLayout>
struct LevelsAs : LevelMatmulWeights {
  LevelsAs(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
           std::span<const float> bias = {})
      : LevelMatmulWeights(codes, encoding, bias, kLayout) {}
};
using LevelNibbles = LevelsAs<LevelLayout::kNibbles>;
/// With evenly spaced levels.
struct EvenLevelBytes : LevelMatmulWeights {
  EvenLevelBytes(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                 std::span<const float> bias)
      : LevelMatmulWeights(codes, evenly_spaced(encoding), bias, preferred_byte_levels()) {}

  static numerics::MatrixEncoding evenly_spaced(numerics::MatrixEncoding encoding) {
    for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
      encoding.set_levels(i, numerics::affine_basis(encoding.bits, 0.02F, 6));
    }
    return encoding;
  }
};

BENCHMARK_TEMPLATE(BM_Int8Matmul, LevelBytes, level_matmul)
    ->Name("BM_LevelBytes")
    ->ArgNames({"m", "n", "o", "bits", "group"})
    ->ArgsProduct({{1, 2, 4, 32}, {784}, {700}, {4}, {0}})
    ->ArgsProduct({{1, 256}, {4096}, {4096}, {4}, {0, 128}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Int8Matmul, EvenLevelBytes, level_matmul)
    ->Name("BM_EvenLevelBytes")
    ->ArgNames({"m", "n", "o", "bits", "group"})
    ->ArgsProduct({{1, 32}, {784}, {700}, {4}, {0}})
    ->ArgsProduct({{256}, {4096}, {4096}, {4}, {0, 128}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Int8Matmul, LevelNibbles, level_matmul)
    ->Name("BM_LevelNibbles")
    ->ArgNames({"m", "n", "o", "bits", "group"})
    ->ArgsProduct({{1, 2, 4}, {784}, {700}, {3, 4}, {0}})
    ->ArgsProduct({{1}, {4096}, {4096}, {3, 4}, {0, 128}})
    ->Unit(benchmark::kMicrosecond);

/// Argument: values per row.
void BM_QuantizeRows(benchmark::State& state) {
  Random random(5);
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto x = numerics::random_floats(random, n);
  std::vector<std::int8_t> q(n);
  float scale[1];
  for (auto _ : state) {
    quantize_rows(MatrixView<const float>(x, 1, n), MatrixView<std::int8_t>(q, 1, n), scale);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_QuantizeRows)->Arg(784)->Arg(4096);

/// Packs 4096 x 4096 weights with this number of bits.
template <typename Weights>
void BM_PackInt8(benchmark::State& state) {
  Random random(6);
  const auto bits = static_cast<int>(state.range(0));
  const auto codes = numerics::random_planes(random, 4096, 4096, bits);
  const auto encoding =
      numerics::random_encoding(random, 4096, 4096, bits, true, numerics::Granularity::kChannel);
  for (auto _ : state) benchmark::DoNotOptimize(Weights(codes, encoding).outputs());
}
BENCHMARK_TEMPLATE(BM_PackInt8, Planes)
    ->Name("BM_PackPlanes")
    ->Arg(2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_PackInt8, LevelBytes)
    ->Name("BM_PackLevelBytes")
    ->Arg(4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_PackInt8, LevelNibbles)
    ->Name("BM_PackLevelNibbles")
    ->Arg(3)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace halftone::kernels

// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "halftone/kernels/attention/attention.h"
#include "halftone/kernels/attention/attention_testing.h"

namespace halftone::kernels {
namespace {

AttentionShape bench_shape(benchmark::State& state) {
  AttentionShape shape;
  shape.heads = 32;
  shape.kv_heads = static_cast<std::size_t>(state.range(2));
  shape.key_size = 128;
  shape.value_size = 128;
  shape.scale = 0.0883883461F;
  return shape;
}

/// Arguments: tokens that the last row sees, type of the cache, heads of keys, rows of a prompt. 32
/// heads of 128 numbers.
void BM_Attend(benchmark::State& state) {
  Random random(7);
  const auto depth = static_cast<std::size_t>(state.range(0));
  const auto rows = static_cast<std::size_t>(state.range(3));
  AttentionCase of(bench_shape(state), 1, depth, static_cast<CacheType>(state.range(1)), random);
  for (std::size_t r = 0; r < rows; ++r) of.add_row(0, depth - rows + r, random);
  std::vector<float> out(of.outputs());
  AlignedBuffer scratch = of.scratch();
  for (auto _ : state) {
    attend(of.inputs(), {0, of.pairs()}, scratch.bytes(), of.view_of(out));
    benchmark::ClobberMemory();
  }
  const auto rate = [](double amount) {
    return benchmark::Counter(1e-9 * amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  const auto bytes = static_cast<double>(of.keys.shape.bytes() + of.values.shape.bytes());
  const double seen = static_cast<double>(depth) - 0.5 * static_cast<double>(rows - 1);
  state.counters["GB/s"] = rate(bytes);
  state.counters["GFLOP/s"] = rate(static_cast<double>(rows) * seen * 32 * 128 * 4);
}
BENCHMARK(BM_Attend)
    ->ArgNames({"depth", "type", "kv", "rows"})
    ->ArgsProduct({{512, 4096}, {0, 1, 2, 3, 4}, {8}, {1}})
    ->ArgsProduct({{512, 4096}, {1, 2, 3, 4}, {32}, {1}})
    ->ArgsProduct({{256, 4096}, {0, 1, 2, 3, 4}, {8}, {256}})
    ->Unit(benchmark::kMicrosecond);

/// Arguments: type of the cache, rows. 8 heads of 128 numbers.
void BM_AppendKeys(benchmark::State& state) {
  Random random(8);
  const CacheShape shape{1, 512, 8, 128, static_cast<CacheType>(state.range(0))};
  const auto rows = static_cast<std::size_t>(state.range(1));
  const auto x = numerics::random_floats(random, rows * 8 * 128);
  AlignedBuffer bytes(shape.bytes());
  std::vector<std::int32_t> slots(rows, 0);
  std::vector<std::int32_t> positions;
  for (std::size_t r = 0; r < rows; ++r) positions.push_back(static_cast<std::int32_t>(r + 5));
  for (auto _ : state) {
    append_keys(shape, MatrixView<const float>(x, rows, 8 * 128), {slots, positions}, {0, 8},
                bytes.bytes());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_AppendKeys)
    ->ArgNames({"type", "rows"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {1, 256}})
    ->Unit(benchmark::kMicrosecond);

/// Argument: pairing. One row of 32 heads of 128 numbers.
void BM_Rotate(benchmark::State& state) {
  Random random(9);
  const auto x = numerics::random_floats(random, 32 * 128);
  const auto table = numerics::random_floats(random, 64);
  const MatrixView<const float> angles(table, 1, 64);
  const std::int32_t position = 0;
  std::vector<float> y(x.size());
  for (auto _ : state) {
    rotate({32, 128, static_cast<RotaryPairing>(state.range(0))},
           MatrixView<const float>(x, 1, x.size()), {&position, 1}, {angles, angles},
           MatrixView<float>(y, 1, y.size()));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Rotate)->ArgName("pairing")->Arg(0)->Arg(1);

}  // namespace
}  // namespace halftone::kernels

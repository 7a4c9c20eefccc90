// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "halftone/base/bits.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

/// Arguments: number of values, bits.
void BM_Encode(benchmark::State& state) {
  Random random(1);
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto bits = static_cast<int>(state.range(1));
  const EncodeTable table(numerics::random_basis(random, bits, true));
  const std::vector<float> x = numerics::random_floats(random, n);
  std::vector<std::uint64_t> planes(table.bits() * words_for_bits(n));
  for (auto _ : state) {
    encode(MatrixView<const float>(x, 1, n), table, planes);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Encode)->ArgsProduct({{784, 700}, {1, 2, 3, 4, 5, 8}});

/// Arguments: rows (pixels of an image), values per row, bits.
void BM_EncodeRows(benchmark::State& state) {
  Random random(1);
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto cols = static_cast<std::size_t>(state.range(1));
  const EncodeTable table(numerics::random_basis(random, static_cast<int>(state.range(2)), true));
  const std::vector<float> x = numerics::random_floats(random, rows * cols);
  std::vector<std::uint64_t> planes(rows * table.bits() * words_for_bits(cols));
  for (auto _ : state) {
    encode(MatrixView<const float>(x, rows, cols), table, planes);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_EncodeRows)
    ->ArgNames({"rows", "cols", "bits"})
    ->ArgsProduct({{1024}, {3}, {8}})
    ->ArgsProduct({{1024}, {16}, {1, 2, 4}})
    ->ArgsProduct({{64}, {64}, {1, 2, 4}})
    ->Unit(benchmark::kMicrosecond);

/// Arguments: number of values, bits, whether the levels are evenly spaced.
void BM_EncodeInt8(benchmark::State& state) {
  Random random(1);
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto bits = static_cast<int>(state.range(1));
  const Int8EncodeTable table(EncodeTable(state.range(2) != 0
                                              ? numerics::range_basis(bits, -1.0F, 1.0F)
                                              : numerics::random_basis(random, bits, true)));
  const std::vector<float> x = numerics::random_floats(random, n);
  std::vector<std::int8_t> q(n);
  for (auto _ : state) {
    encode_int8(MatrixView<const float>(x, 1, n), table, MatrixView<std::int8_t>(q, 1, n));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_EncodeInt8)->ArgsProduct({{784, 8192}, {3, 4, 8}, {0, 1}});

}  // namespace
}  // namespace halftone::kernels

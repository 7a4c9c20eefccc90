// SPDX-License-Identifier: Apache-2.0
// The cost of maps and collectives, and of the operations they consist of.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "halftone/spmd.hpp"

namespace halftone::spmd {
namespace {

constexpr std::int64_t kMegabyte = 262'144;  // float32 elements

void pmap_of_nothing(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto f = pmap([] {}, {.axis_size = count, .devices = Devices::emulate(count)});
  for (auto _ : state) f();
}
BENCHMARK(pmap_of_nothing)->Arg(1)->Arg(2)->Arg(4)->Arg(64)->UseRealTime();

void vmap_of_nothing(benchmark::State& state) {
  const auto f = vmap([] {}, {.axis_size = 64});
  for (auto _ : state) f();
}
BENCHMARK(vmap_of_nothing)->UseRealTime();

/// Rounds of psum inside one map, so that only the collective is timed.
void psum_over_devices(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Array x = Array::range<float>({state.range(1)});
  const Devices devices = Devices::emulate(count);
  for (auto _ : state) {
    constexpr int kRounds = 100;
    const auto f = pmap(
        [&] {
          for (int round = 0; round < kRounds; ++round) {
            benchmark::DoNotOptimize(psum(x, "i").bytes().data());
          }
        },
        {.axis_name = "i", .axis_size = count, .devices = devices});
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(time.count() / kRounds);
  }
}
BENCHMARK(psum_over_devices)
    ->Args({2, 1})
    ->Args({2, kMegabyte})
    ->Args({4, kMegabyte})
    ->UseManualTime()
    ->Iterations(5);

/// The baseline for psum over two devices: two copies of 1 MB.
void copy_twice(benchmark::State& state) {
  const std::vector<float> src(kMegabyte, 1.F);
  std::vector<float> first(kMegabyte);
  std::vector<float> second(kMegabyte);
  for (auto _ : state) {
    std::memcpy(first.data(), src.data(), src.size() * sizeof(float));
    std::memcpy(second.data(), src.data(), src.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(copy_twice)->UseRealTime();

}  // namespace
}  // namespace halftone::spmd

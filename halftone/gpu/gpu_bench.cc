// SPDX-License-Identifier: Apache-2.0
// Products of one row and of many with weights in groups, beside a copy on the same device. Times
// are those between events of the device; HALFTONE_TEST_DEVICE names it (default: opencl).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <ctime>

#include "halftone/gpu/groups.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/rows.h"
#include "halftone/kernels/groups/group_testing.h"

namespace halftone::gpu {
namespace {

struct Bench {
  std::unique_ptr<GpuDevice> device;
  std::unique_ptr<Programs> programs;
};

Bench& bench() {
  static Bench here = [] {
    const char* name = std::getenv("HALFTONE_TEST_DEVICE");
    Bench made{open_device(name == nullptr ? "opencl" : name), nullptr};
    made.programs = std::make_unique<Programs>(*made.device);
    return made;
  }();
  return here;
}

/// Repeats a launch, ten at a time.
void measure(benchmark::State& state, const Launch& launch) {
  constexpr int kRepeats = 10;
  GpuDevice& device = *bench().device;
  device.launch(launch);
  device.finish();
  for (auto _ : state) {
    const auto begin = device.record();
    for (int i = 0; i < kRepeats; ++i) device.launch(launch);
    state.SetIterationTime(device.record()->seconds_since(*begin) / kRepeats);
  }
}

void set_rate(benchmark::State& state, const char* name, double count) {
  state.counters[name] = benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
}

void copy(benchmark::State& state) {
  constexpr std::size_t kCount = std::size_t{1} << 26;
  const auto x = bench().device->allocate(kCount * sizeof(float));
  const auto y = bench().device->allocate(kCount * sizeof(float));
  measure(state, apply(*bench().programs, Function::kNone, *x, *y, kCount));
  set_rate(state, "bytes", 2 * kCount * sizeof(float));
}

/// Weights whose bits are all zero: what they are changes no time.
void product(benchmark::State& state, const kernels::GroupCodes& format) {
  const auto outputs = static_cast<std::size_t>(state.range(0));
  const auto cols = static_cast<std::size_t>(state.range(1));
  const auto rows = static_cast<std::size_t>(state.range(2));
  const GroupMatrix w(*bench().programs, kernels::PackedGroups(outputs, cols, format));
  const GroupInputs x(*bench().programs, rows, w.extents());
  const auto y = bench().device->allocate(rows * outputs * sizeof(float));
  measure(state, multiply_groups(w, x, *y));
  set_rate(state, "bytes", static_cast<double>(w.size_bytes()));
  set_rate(state, "operations", 2.0 * static_cast<double>(rows * outputs * cols));
}

void four_bits(benchmark::State& state) { product(state, kernels::kFourBits); }
void two_bits(benchmark::State& state) { product(state, kernels::vector_formats()[0].format); }

/// Seconds of the processor that the calling thread has used.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What 256 launches, about those of a token, cost the processor: with arguments, or prepared.
void launch_costs(benchmark::State& state, bool is_prepared) {
  constexpr std::size_t kSide = 64;
  constexpr std::size_t kLaunches = 256;
  GpuDevice& device = *bench().device;
  const GroupMatrix w(*bench().programs, kernels::PackedGroups(kSide, kSide, kernels::kFourBits));
  const auto x = upload(device, std::span<const float>(std::vector<float>(kSide)));
  const auto y = device.allocate(kSide * sizeof(float));
  const std::vector<Launch> launches(kLaunches, multiply_groups(w, {*x, 1}, *y));
  const std::unique_ptr<Replay> replay = device.prepare(launches);
  for (auto _ : state) {
    const double begin = thread_seconds();
    if (is_prepared) {
      replay->run();
    } else {
      for (const Launch& each : launches) device.launch(each);
    }
    state.SetIterationTime(thread_seconds() - begin);
    device.finish();
  }
}
void launch_256(benchmark::State& state) { launch_costs(state, false); }
void replay_256(benchmark::State& state) { launch_costs(state, true); }

void sizes(benchmark::internal::Benchmark* all) {
  for (const std::int64_t rows : {1, 512}) {
    all->Args({4096, 4096, rows})->Args({4096, 14336, rows})->Args({8192, 8192, rows});
  }
  all->ArgNames({"outputs", "inputs", "rows"})->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK(copy)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(launch_256)->UseManualTime()->Iterations(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(replay_256)->UseManualTime()->Iterations(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(four_bits)->Apply(sizes);
BENCHMARK(two_bits)->Apply(sizes);

}  // namespace
}  // namespace halftone::gpu

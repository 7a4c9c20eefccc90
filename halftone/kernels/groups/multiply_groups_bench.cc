// SPDX-License-Identifier: Apache-2.0
// Weights in groups, hot (one matrix again and again) and cold (copies that no cache holds), beside
// the time that only reading the same bytes takes.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>

#include "halftone/kernels/groups/group_testing.h"
#include "halftone/kernels/groups/multiply_groups.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kColdBytes = std::size_t{128} << 20;
constexpr std::size_t kFileFormats = 16;
constexpr std::int64_t kLastFormat = 22;

/// The formats of GGUF, then the rates of vector bases.
std::vector<NamedFormat> measured_formats() {
  std::vector<NamedFormat> formats = group_formats();
  formats.resize(kFileFormats);
  for (const NamedFormat& each : vector_formats()) formats.push_back(each);
  return formats;
}

/// Copies of a matrix; all rows are alike in strips, which saves the time to make them.
std::vector<PackedGroups> copies_of(const GroupCodes& format, std::size_t extent, bool cold) {
  const RandomGroups w(format, kStripRows, extent, 1);
  const auto unpack = [&](std::size_t row, std::span<std::int8_t> codes, std::span<float> scales,
                          std::span<float> offsets) {
    w.unpack(row % kStripRows, codes, scales, offsets);
  };
  std::vector<PackedGroups> copies;
  do {
    copies.push_back(PackedGroups::pack(extent, extent, format, unpack));
  } while (cold && copies.size() * copies.front().size_bytes() < kColdBytes);
  return copies;
}

/// Reads all bytes of a matrix with a prefetch as far ahead as the kernels'.
std::uint64_t read_all(const PackedGroups& w) {
  std::uint64_t sums[8] = {};
  const std::uint8_t* at = w.strip(0);
  for (const std::uint8_t* end = at + w.size_bytes(); at < end; at += 64) {
    __builtin_prefetch(at + 8192, 0, 3);
    const auto* words = reinterpret_cast<const std::uint64_t*>(at);
    for (std::size_t i = 0; i < 8; ++i) sums[i] |= words[i];
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}

double processor_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of this processor that `work` takes.
template <typename Work>
double seconds_of(const Work& work) {
  const double begin = processor_seconds();
  work();
  return processor_seconds() - begin;
}

/// Arguments: index of the format, rows, cold or not. `us` is the best time; `of_reading` is the
/// best time of only reading the packed bytes, measured in turn, as a share of it.
void BM_MultiplyGroups(benchmark::State& state) {
  constexpr std::size_t kExtent = 4096;
  const NamedFormat named = measured_formats()[static_cast<std::size_t>(state.range(0))];
  const auto rows = static_cast<std::size_t>(state.range(1));
  const auto copies = copies_of(named.format, kExtent, state.range(2) != 0);
  Random random(2);
  const auto values = numerics::random_floats(random, rows * kExtent);
  OwnedRows x(rows, copies.front().extents());
  std::vector<float> y(rows * kExtent);
  std::size_t next = 0;
  double best = 1;
  double best_read = 1;
  for (auto _ : state) {
    const PackedGroups& w = copies[next++ % copies.size()];
    const double seconds = seconds_of([&] {
      encode_group_rows(MatrixView<const float>(values, rows, kExtent), {0, rows}, x.view);
      multiply_groups(w, x.view, {0, w.num_strips()}, MatrixView<float>(y, rows, kExtent));
      benchmark::ClobberMemory();
    });
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    const PackedGroups& other = copies[next++ % copies.size()];
    best_read = std::min(best_read, seconds_of([&] { benchmark::DoNotOptimize(read_all(other)); }));
  }
  const auto bytes = static_cast<double>(copies.front().size_bytes());
  state.counters["us"] = 1e6 * best;
  state.counters["GB/s"] = 1e-9 * bytes / best;
  state.counters["of_reading"] = best_read / best;
  state.counters["GOP/s"] = 2e-9 * static_cast<double>(rows * kExtent * kExtent) / best;
  state.SetLabel(named.name);
}

BENCHMARK(BM_MultiplyGroups)
    ->ArgNames({"format", "m", "cold"})
    ->ArgsProduct({benchmark::CreateDenseRange(0, kLastFormat, 1), {1, 2, 5, 8}, {1}})
    ->ArgsProduct({benchmark::CreateDenseRange(0, kLastFormat, 1), {1, 2, 5, 16, 256}, {0}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void BM_EncodeGroupRows(benchmark::State& state) {
  Random random(3);
  const auto values = numerics::random_floats(random, 4096);
  OwnedRows x(1, {4096, static_cast<std::size_t>(state.range(0))});
  for (auto _ : state) {
    encode_group_rows(MatrixView<const float>(values, 1, 4096), {0, 1}, x.view);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_EncodeGroupRows)->ArgName("group")->Arg(32)->Arg(64);

}  // namespace
}  // namespace halftone::kernels

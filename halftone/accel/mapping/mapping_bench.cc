// SPDX-License-Identifier: Apache-2.0
// Time to find the best mapping of layers of ResNet-50.
#include <benchmark/benchmark.h>

#include <vector>

#include "halftone/accel/mapping/search.h"

namespace halftone::accel::mapping {
namespace {

/// Memory, buffer and registers, or with a second buffer, over 16 x 16 MACs.
Hierarchy accelerator(bool second_buffer) {
  Hierarchy hierarchy;
  const auto add = [&](std::uint64_t capacity, std::uint64_t access, double pj, double bandwidth) {
    Level level;
    level.name = "level";
    level.keeps = {true, true, true};
    level.capacity_bits = capacity;
    level.access_bits = access;
    level.read_pj = level.write_pj = level.update_pj = pj;
    level.bits_per_cycle = bandwidth;
    hierarchy.levels.push_back(level);
  };
  constexpr std::uint64_t kKib = 8 * 1024;
  add(0, 64, 500, 128);
  if (second_buffer) add(2048 * kKib, 64, 60, 1024);
  add(128 * kKib, 64, 18, 4096);
  hierarchy.levels.back().fan_out = {{16, {}}, {16, {}}};
  add(64 * 8, 8, 0.2, 0);
  hierarchy.mac_pj = 0.2;
  return hierarchy;
}

struct Sizes {
  std::uint64_t m, n, k;
};
/// Pixels, output channels and inputs of an output.
const std::vector<Sizes>& layers() {
  static const std::vector<Sizes> all = {
      {12544, 64, 147}, {3136, 64, 64},  {3136, 64, 576}, {3136, 256, 64},  {3136, 128, 256},
      {784, 128, 1152}, {784, 512, 128}, {784, 256, 512}, {196, 256, 2304}, {196, 1024, 256},
      {196, 512, 1024}, {49, 512, 4608}, {49, 2048, 512}, {1, 1000, 2048}};
  return all;
}

void find_all(benchmark::State& state) {
  const Hierarchy hierarchy = accelerator(state.range(0) != 0);
  SearchOptions options;
  options.objective = static_cast<Objective>(state.range(1));
  const Sizes& sizes = layers()[static_cast<std::size_t>(state.range(2))];
  const Problem problem = matrix_product(sizes.m, sizes.n, sizes.k, {8, 2, 32});
  for (auto iteration : state) {
    const FoundMapping found = find_mapping(problem, hierarchy, options);
    benchmark::DoNotOptimize(found.evaluation.cycles);
  }
}
BENCHMARK(find_all)
    ->ArgNames({"second_buffer", "objective", "layer"})
    ->ArgsProduct({{0, 1}, {0, 1, 2}, benchmark::CreateDenseRange(0, 13, 1)})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace halftone::accel::mapping

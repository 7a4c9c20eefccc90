// SPDX-License-Identifier: Apache-2.0
// Runs the benchmarks on the SIMD target that HALFTONE_SIMD names.
#include <benchmark/benchmark.h>

#include <exception>
#include <iostream>

#include "halftone/kernels/targets.h"

int main(int argc, char** argv) {
  try {
    halftone::kernels::use_simd_target_from_environment();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  benchmark::AddCustomContext("simd", halftone::kernels::current_simd_target());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// psum over ranks beside MPI_Allreduce, in one run: mpirun -n 2
// build/release/benchmarks/ranks_bench
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "halftone/spmd/mpi.h"
#include "halftone/spmd/spmd.h"

namespace halftone::spmd {
namespace {

constexpr int kRounds = 200;

double now_us() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(time).count();
}

/// The median time of a round.
template <typename Round>
double median_us(Round round) {
  std::vector<double> times;
  for (int r = 0; r < kRounds; ++r) {
    const double begin = now_us();
    round();
    times.push_back(now_us() - begin);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

void compare(const Devices& devices, std::int64_t num_elements) {
  const Array x = Array::range<float>({num_elements});
  std::vector<float> sum(x.size());
  const double allreduce_us = median_us([&] {
    MPI_Allreduce(x.as<float>().data(), sum.data(), static_cast<int>(sum.size()), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
  });
  double psum_us = 0;
  const auto f = [&] {
    const double time = median_us([&] { psum(x, "ranks"); });
    if (devices.rank() == 0) psum_us = time;
  };
  pmap(f, {.axis_name = "ranks", .axis_size = devices.size(), .devices = devices})();
  if (devices.rank() != 0) return;
  std::printf("%8.1f KB on %zu ranks: MPI_Allreduce %8.1f us, psum %8.1f us: %.2f x\n",
              static_cast<double>(x.bytes().size()) / 1024, devices.size(), allreduce_us, psum_us,
              psum_us / allreduce_us);
}

}  // namespace
}  // namespace halftone::spmd

int main() {
  halftone::spmd::MpiSession session;
  const auto devices = halftone::spmd::Devices::over(session.transport());
  if (devices.num_ranks() == 1) {
    std::printf("start it with mpirun -n 2\n");
    return 2;
  }
  for (const std::int64_t num_elements : {1, 1024, 16'384, 262'144, 2'097'152}) {
    halftone::spmd::compare(devices, num_elements);
  }
}

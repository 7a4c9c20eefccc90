// SPDX-License-Identifier: Apache-2.0
// Compares psum over ranks with MPI_Allreduce in one run, and fits the link model to its times:
//     mpirun -n 2 build/release/modules/spmd/ranks_bench [--json]
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "halftone/spmd.hpp"
#include "halftone/spmd/cost.h"
#include "halftone/spmd/mpi.h"

namespace halftone::spmd {
namespace {

constexpr int kRounds = 400;

double now_s() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

/// The median time of a round.
template <typename Round>
double median_s(Round round) {
  std::vector<double> times;
  for (int r = 0; r < kRounds; ++r) {
    const double begin = now_s();
    round();
    times.push_back(now_s() - begin);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

struct Row {
  double bytes = 0;
  double allreduce_s = 0;
  double psum_s = 0;
  double ppermute_s = 0;  ///< around the ring, without additions
};

Row compare(const Devices& devices, std::int64_t num_elements) {
  const Array x = Array::range<float>({num_elements});
  std::vector<float> sum(x.size());
  Row row{.bytes = static_cast<double>(x.bytes().size())};
  row.allreduce_s = median_s([&] {
    MPI_Allreduce(x.as<float>().data(), sum.data(), static_cast<int>(sum.size()), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
  });
  std::vector<std::pair<std::size_t, std::size_t>> ring;
  for (std::size_t r = 0; r < devices.size(); ++r) ring.emplace_back(r, (r + 1) % devices.size());
  const auto f = [&] {
    row.psum_s = median_s([&] { psum(x, "ranks"); });
    row.ppermute_s = median_s([&] { ppermute(x, "ranks", ring); });
  };
  pmap(f, {.axis_name = "ranks", .axis_size = devices.size(), .devices = devices})();
  return row;
}

void print(std::size_t ranks, const std::vector<Row>& rows, const Link& link, bool as_json) {
  const double ns_per_byte = 1e9 * link.per_byte_s;
  const double ns_per_added_byte = 1e9 * link.per_added_byte_s;
  if (as_json) {
    std::printf(R"({"latency_us": %.3f, "ns_per_byte": %.5f, "ns_per_added_byte": %.5f})",
                1e6 * link.latency_s, ns_per_byte, ns_per_added_byte);
    std::printf("\n");
    return;
  }
  std::printf("%zu ranks    MPI_Allreduce us   psum us  ratio  model  ppermute us  model\n", ranks);
  for (const Row& row : rows) {
    std::printf("%10.1f KiB %12.1f %9.1f %6.2f %6.1f %12.1f %6.1f\n", row.bytes / 1024,
                1e6 * row.allreduce_s, 1e6 * row.psum_s, row.psum_s / row.allreduce_s,
                1e6 * link.seconds(psum_path(ranks, row.bytes)), 1e6 * row.ppermute_s,
                1e6 * link.seconds(ppermute_path(ranks, row.bytes)));
  }
  std::printf("link: %.2f us a message, %.3f ns a byte, %.3f ns a byte that is added\n",
              1e6 * link.latency_s, ns_per_byte, ns_per_added_byte);
}

}  // namespace
}  // namespace halftone::spmd

int main(int argc, char** argv) {
  using namespace halftone::spmd;
  MpiSession session;
  const auto devices = Devices::over(session.transport());
  if (devices.num_ranks() == 1) {
    std::printf("start it with mpirun -n 2\n");
    return 2;
  }
  std::vector<Row> rows;
  std::vector<CostSample> samples;
  for (const std::int64_t num_elements : {1, 256, 1024, 16'384, 65'536, 262'144, 1'048'576}) {
    rows.push_back(compare(devices, num_elements));
    const Row& row = rows.back();
    samples.push_back({psum_path(devices.num_ranks(), row.bytes), row.psum_s});
    samples.push_back({ppermute_path(devices.num_ranks(), row.bytes), row.ppermute_s});
  }
  if (devices.rank() == 0) {
    const bool as_json = argc > 1 && std::string_view(argv[1]) == "--json";
    print(devices.num_ranks(), rows, fit_link(samples), as_json);
  }
}

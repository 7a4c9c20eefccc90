// SPDX-License-Identifier: Apache-2.0
// Prints the tables of docs/scaling.md from measurements of scripts/scaling.sh, JSON on standard
// input.
//     {"here": {LINK, "cores": 2}, "clusters": [{"name", LINK}],
//      "measured": [{"name", "startup_s", "lanes", "sums": [[bytes, count]], "seconds": [[ranks,
//      s]]}], "predicted": [{"name", "alike_s", "shared_s", "lanes", "sums", "grows"}]}
// with LINK "latency_us", "ns_per_byte", "ns_per_added_byte".
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/scaling.h"

namespace halftone::bench {
namespace {

using nlohmann::json;

Cluster read_cluster(const json& in) {
  return {in.value("name", ""),
          {1e-6 * in.at("latency_us").get<double>(), 1e-9 * in.at("ns_per_byte").get<double>(),
           1e-9 * in.at("ns_per_added_byte").get<double>()},
          in.value("cores", std::size_t{0})};
}

SharedWork read_work(const json& in) {
  SharedWork work;
  work.name = in.at("name");
  work.startup_s = in.value("startup_s", 0.0);
  work.alike_s = in.value("alike_s", 0.0);
  work.shared_s = in.value("shared_s", 0.0);
  work.lanes = in.value("lanes", std::size_t{1});
  work.grows = in.value("grows", false);
  for (const json& sums : in.value("sums", json::array())) {
    work.sums.push_back({sums.at(0), sums.at(1)});
  }
  return work;
}

void print_measured(const json& in, const Cluster& here) {
  const auto seconds = in.at("seconds").get<std::vector<std::pair<std::size_t, double>>>();
  const auto of = [&](std::size_t ranks) {
    return std::ranges::find(seconds, ranks, &std::pair<std::size_t, double>::first)->second;
  };
  const SharedWork work = with_times(read_work(in), of(1), of(2), here);
  for (const auto& [ranks, time] : seconds) {
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f}x |\n", work.name, ranks, time,
               predict_seconds(work, ranks, here), of(1) / time);
  }
  fmt::print(stderr, "{}: {:.3f} s alike, {:.3f} s divided into {} lanes\n", work.name,
             work.alike_s, work.shared_s, work.lanes);
}

void print_predicted(const SharedWork& work, const Cluster& cluster) {
  fmt::print("| {} | {}{} |", work.name, cluster.name, cluster.halving ? ", halving" : "");
  for (std::size_t ranks = 8; ranks <= 4096; ranks *= 8) {
    fmt::print(" {:.0f} % |", 100 * efficiency(work, ranks, cluster));
  }
  fmt::print("\n");
}

int run() {
  const json in = json::parse(std::cin);
  const Cluster here = read_cluster(in.at("here"));
  fmt::print(
      "| work | ranks | measured, s | predicted, s | times as fast |\n|---|---|---|---|---|\n");
  for (const json& work : in.at("measured")) print_measured(work, here);
  fmt::print("\n| work | network | 8 | 64 | 512 | 4096 |\n|---|---|---|---|---|---|\n");
  for (const json& work : in.at("predicted")) {
    for (const json& cluster : in.at("clusters")) {
      Cluster on = read_cluster(cluster);
      print_predicted(read_work(work), on);
      on.halving = true;
      print_predicted(read_work(work), on);
    }
  }
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main() {
  try {
    return halftone::bench::run();
  } catch (const std::exception& error) {
    std::cerr << "halftone_scaling: " << error.what() << "\n";
    return 3;
  }
}

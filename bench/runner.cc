// SPDX-License-Identifier: Apache-2.0
#include "bench/runner.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <set>

#include "bench/limits.h"
#include "halftone/base/error.h"

namespace halftone::bench {
namespace {

/// Seconds of a run, one per repetition.
struct Times {
  std::vector<double> cpu;  ///< of all threads of the process
  std::vector<double> wall;
};

/// Collects the times of all repetitions; prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      Times& times = times_[run.run_name.function_name];
      const auto iterations = static_cast<double>(run.iterations);
      times.cpu.push_back(run.cpu_accumulated_time / iterations);
      times.wall.push_back(run.real_accumulated_time / iterations);
    }
  }
  [[nodiscard]] const Times& of(const std::string& name) const { return times_.at(name); }

 private:
  std::map<std::string, Times> times_;
};

/// @param wall  decide the number of runs per repetition by wall time instead of processor time
void register_case(const std::string& name, const Prepared& prepared, bool wall) {
  if (prepared.seconds) {
    constexpr std::size_t kRuns = 16;  // without waiting for this process
    const auto body = [seconds = prepared.seconds](benchmark::State& state) {
      while (state.KeepRunningBatch(kRuns)) state.SetIterationTime(kRuns * seconds(kRuns));
    };
    benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime();
    return;
  }
  const auto body = [run = prepared.run](benchmark::State& state) {
    for (auto _ : state) run();
  };
  auto* registered = benchmark::RegisterBenchmark(name.c_str(), body);
  registered->MeasureProcessCPUTime();
  if (wall) registered->UseRealTime();
}

/// The chosen cases and their baselines, in the order of the suite.
std::vector<const Case*> choose(const Suite& suite, const std::regex& filter) {
  std::set<std::string> names;
  for (const Case& c : suite.cases) {
    if (!std::regex_search(c.name, filter)) continue;
    names.insert(c.name);
    names.insert(c.baselines.begin(), c.baselines.end());
  }
  std::vector<const Case*> chosen;
  for (const Case& c : suite.cases) {
    if (names.contains(c.name)) chosen.push_back(&c);
  }
  return chosen;
}

std::string limit_name(Limit limit) { return std::string("limit ") + to_string(limit); }

}  // namespace

void initialize(const RunOptions& options) {
  std::array<std::string, 4> arguments = {
      "halftone_bench", "--benchmark_enable_random_interleaving=true",
      "--benchmark_repetitions=" + std::to_string(options.repetitions),
      "--benchmark_min_time=" + std::to_string(options.min_seconds)};
  std::array<char*, arguments.size() + 1> argv{};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  int argc = static_cast<int>(arguments.size());
  benchmark::Initialize(&argc, argv.data());
}

Outcome run_suite(const Suite& suite, const std::regex& filter) {
  Outcome outcome{suite.name, suite.title, suite.comparisons, {}, {}, {}};
  const std::vector<const Case*> chosen = choose(suite, filter);
  const bool wall = std::ranges::any_of(chosen, [](const Case* c) { return c->threads > 1; });
  std::set<Limit> limits;
  std::set<std::string> elsewhere;  // in another process, which gives one time: as wall time
  for (const Case* c : chosen) {
    const Prepared prepared = with_context(c->name, c->prepare);
    register_case(c->name, prepared, wall);
    if (prepared.seconds) elsewhere.insert(c->name);
    outcome.rows.push_back(
        {c->name, c->baselines, prepared.kernel, prepared.work, {}, c->threads, 1});
    if (!prepared.work || c->threads > 1) continue;
    if (prepared.work->memory) limits.insert(*prepared.work->memory);
    if (prepared.work->unit) limits.insert(*prepared.work->unit);
  }
  std::map<Limit, double> amounts;
  for (const Limit limit : limits) {
    const Prepared loop = prepare_limit(limit);
    amounts[limit] = loop.work->bytes + loop.work->operations;
    register_case(limit_name(limit), loop, wall);
  }
  Collector collector;
  if (!outcome.rows.empty()) benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  for (Row& row : outcome.rows) {
    const Times& times = collector.of(row.name);
    const bool is_elsewhere = elsewhere.contains(row.name);
    row.seconds = wall || is_elsewhere ? times.wall : times.cpu;
    if (row.threads == 1 && !is_elsewhere)
      row.wall_per_cpu = median(times.wall) / median(times.cpu);
  }
  for (const auto& [limit, amount] : amounts) {
    const Times& times = collector.of(limit_name(limit));
    outcome.rates[limit] = {amount / median(wall ? times.wall : times.cpu)};
  }
  raise_limits(outcome);
  return outcome;
}

}  // namespace halftone::bench

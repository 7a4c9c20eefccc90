// SPDX-License-Identifier: Apache-2.0
// The benchmark suite: our layers and networks and their peers, in one run on one machine.
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/peers.h"
#include "bench/runner.h"
#include "bench/suites.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/processor.h"
#include "halftone/kernels/targets.h"

namespace halftone::bench {
namespace {

struct Options {
  RunOptions run;
  std::string filter = ".";
  std::string json;
  std::string baseline;
  std::vector<std::string> models;
  std::string simd = "auto";
  int threads = 1;
  bool list = false;
};

nlohmann::ordered_json describe_machine(const Options& options) {
  return {{"processor", processor_name()},
          {"l1_bytes", caches().l1},
          {"l2_bytes", caches().l2},
          {"l3_bytes", caches().l3},
          {"threads", options.threads},
          {"simd", kernels::current_simd_target()},
          {"compiler", __VERSION__},
          {"onednn", describe_onednn()},
          {"openblas", describe_openblas()},
          {"repetitions", options.run.repetitions},
          {"min_seconds", options.run.min_seconds}};
}

std::string describe_run(const Options& options) {
  return processor_name() + ", " + std::to_string(options.threads) +
         (options.threads == 1 ? " thread" : " threads") + "; Halftone on " +
         kernels::current_simd_target() + "; " + describe_onednn() + "; " + describe_openblas() +
         "; medians of " + std::to_string(options.run.repetitions) + "\n";
}

void list(const std::vector<Suite>& suites, const std::regex& filter) {
  for (const Suite& suite : suites) {
    for (const Case& c : suite.cases) {
      if (std::regex_search(c.name, filter)) std::cout << c.name << "\n";
    }
  }
}

/// An earlier run.
struct Baseline {
  nlohmann::json machine;
  Earlier seconds;
};

/// @throws Error kIo if the file cannot be read; kFormat if it is not what --json writes
Baseline read_baseline(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(ErrorKind::kIo, path + ": cannot read");
  Baseline baseline;
  try {
    const auto json = nlohmann::json::parse(file);
    baseline.machine = json.at("machine");
    for (const auto& suite : json.at("suites")) {
      for (const auto& row : suite.at("rows")) {
        baseline.seconds[row.at("name")] = 1e-6 * row.at("median_us").get<double>();
      }
    }
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::kFormat, path + ": expected the results of an earlier run (--json), found " +
                                 std::string(error.what()));
  }
  return baseline;
}

/// What differs from the machine of an earlier run, so that times do not compare.
std::string describe_differences(const nlohmann::json& before, const nlohmann::json& now) {
  std::string text;
  for (const char* key : {"processor", "threads", "simd", "compiler"}) {
    const nlohmann::json was = before.value(key, nlohmann::json());
    if (was == now[key]) continue;
    text += std::string("Before, with another ") + key + ": " + was.dump() + "\n";
  }
  return text;
}

/// Rows that became slower by more than a twentieth.
std::string describe_slower(const Outcome& outcome) {
  std::string text;
  for (const Row& row : outcome.rows) {
    const double speedup = speedup_over_earlier(row, outcome.earlier);
    if (is_disturbed(row) || !(speedup < 0.95)) continue;
    text += (text.empty() ? "Slower than before: " : ", ") + row.name;
  }
  return text.empty() ? "" : text + "\n";
}

void run(const Options& options) {
  const std::regex filter(options.filter);
  std::vector<Suite> suites = all_suites(options.threads);
  if (!options.models.empty()) suites = {model_suite(options.models, options.threads)};
  if (options.list) return list(suites, filter);
  const Baseline baseline = options.baseline.empty() ? Baseline{} : read_baseline(options.baseline);
  restrict_onednn(options.simd);
  kernels::use_simd_target(options.simd);
  set_num_threads(std::max(2, options.threads));  // plans set their own limit
  initialize(options.run);
  nlohmann::ordered_json json = {{"machine", describe_machine(options)}};
  std::cout << describe_run(options);
  if (!options.baseline.empty()) {
    std::cout << describe_differences(baseline.machine, json["machine"]);
  }
  for (const Suite& suite : suites) {
    Outcome outcome = run_suite(suite, filter);
    if (outcome.rows.empty()) continue;
    outcome.earlier = baseline.seconds;
    std::cout << "\n" << to_text(outcome) << describe_slower(outcome) << std::flush;
    json["suites"].push_back(to_json(outcome));
  }
  if (!json.contains("suites")) {
    fail(ErrorKind::kUsage, "no case matches '" + options.filter + "'; --list names them");
  }
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  if (!(file << json.dump(2) << std::endl)) fail(ErrorKind::kIo, options.json + ": cannot write");
}

int main_with(int argc, char** argv) {
  Options options;
  CLI::App app("Halftone beside its peers", "halftone_bench");
  app.add_option("filter", options.filter, "Regular expression: the cases to measure");
  app.add_option("--json", options.json, "File for the results as JSON");
  app.add_option("--model", options.models, "Network files to measure instead of the suites")
      ->check(CLI::ExistingFile);
  app.add_option("--baseline", options.baseline, "Results of an earlier run to compare with");
  app.add_option("--simd", options.simd, "Instruction set for us and oneDNN, e.g. AVX2")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads of a run")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--repetitions", options.run.repetitions, "Times of which to take the median")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--min-seconds", options.run.min_seconds, "How long a repetition takes")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  app.add_flag("--list", options.list, "Name the cases, measure nothing");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // a peer that has ended is reported where it is asked
  run(options);
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main(int argc, char** argv) {
  try {
    return halftone::bench::main_with(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "halftone_bench: " << error.what() << "\n";
    return 1;
  }
}

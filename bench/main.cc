// SPDX-License-Identifier: Apache-2.0
// The benchmark suite: our layers and networks and their peers, in one run on one machine.
#include <CLI/CLI.hpp>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/peers.h"
#include "bench/runner.h"
#include "bench/suites.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/targets.h"

namespace halftone::bench {
namespace {

struct Options {
  RunOptions run;
  std::string filter = ".";
  std::string json;
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

void run(const Options& options) {
  const std::regex filter(options.filter);
  const std::vector<Suite> suites = all_suites(options.threads);
  if (options.list) return list(suites, filter);
  restrict_onednn(options.simd);
  kernels::use_simd_target(options.simd);
  set_num_threads(std::max(2, options.threads));  // plans set their own limit
  initialize(options.run);
  nlohmann::ordered_json json = {{"machine", describe_machine(options)}};
  std::cout << describe_run(options);
  for (const Suite& suite : suites) {
    const Outcome outcome = run_suite(suite, filter);
    if (outcome.rows.empty()) continue;
    std::cout << "\n" << to_text(outcome) << std::flush;
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

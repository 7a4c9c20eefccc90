// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/base/parallel.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"
#include "halftone/runtime/profile.h"

namespace halftone::cli {
namespace {

struct Options {
  CommonOptions common;
  std::string model;
  std::size_t batch = 1;
  double seconds = 0.5;
  bool explain = false;
};

void run(const Options& options) {
  apply(options.common);
  const runtime::PlanOptions plan_options{options.batch, num_threads()};
  const auto plan = runtime::make_plan(load_network(options.model), plan_options);
  const runtime::Profile profile = runtime::profile(plan, {.min_seconds = options.seconds});
  std::cout << (options.common.json ? report::to_json(*plan, profile)
                                    : report::to_text(*plan, profile, options.explain));
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb =
      add_verb(app, "bench", "Measure the latency of a network and of each layer",
               "halftone bench model.circle --batch 1 --threads 1 --explain", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")->required();
  verb->add_option("--batch", options->batch, "Samples per run")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Measure at least so long")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Say why each kernel was chosen");
  verb->final_callback([options, &action] { action = [options] { run(*options); }; });
}

}  // namespace halftone::cli

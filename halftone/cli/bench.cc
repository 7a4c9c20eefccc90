// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/report/report.h"
#include "halftone/runtime/execute/profile.h"

namespace halftone::cli {
namespace {

/// Maximum number of elements of a tensor; memory usually runs out first.
constexpr std::int64_t kMaxSamples = std::int64_t{1} << 40;

struct BenchOptions {
  CommonOptions common;
  std::string model;
  std::optional<std::size_t> batch;
  int devices = 1;
  double seconds = 0.5;
  bool explain = false;
  bool int8_activations = true;
  runtime::FloatOrder float_order = runtime::FloatOrder::kFastest;
};

/// Samples per run. @throws Error kUsage if the network has another fixed number
std::size_t batch_of(const BenchOptions& options, const ir::Graph& graph) {
  const auto fixed = ir::fixed_batch(graph);
  if (fixed && options.batch && *options.batch != *fixed) {
    fail(ErrorKind::kUsage, options.model + ": --batch: expected " + std::to_string(*fixed) +
                                ", which the network is fixed to, found " +
                                std::to_string(*options.batch));
  }
  return fixed.value_or(options.batch.value_or(1));
}

void run(const BenchOptions& options, const Machine& machine) {
  apply(options.common);
  const ir::Graph graph = load_to_run(options.model);
  const std::size_t batch = batch_of(options, graph);
  const spmd::Devices devices = machine.devices(options.devices);
  const int threads_each = std::max(1, num_threads() / static_cast<int>(devices.num_local()));
  const auto shares = with_context(options.model, [&] {
    return runtime::plan_shares(
        graph, {batch, threads_each, options.int8_activations, options.float_order},
        devices.size());
  });
  const runtime::Profile profile =
      runtime::profile(shares, devices, {.min_seconds = options.seconds});
  if (!machine.is_first()) return;
  const runtime::Plan& plan = *shares.front();
  std::cout << (options.common.json ? report::to_json(plan, profile)
                                    : printable(report::to_text(plan, profile, options.explain)));
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* verb =
      add_verb(app, "bench", "Measure the latency of a network and of each layer",
               "halftone bench model.circle --batch 1 --threads 1 --explain", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  verb->add_option("--batch", options->batch, "Samples per run (default 1)")
      ->check(CLI::Range(std::int64_t{1}, kMaxSamples));
  verb->add_option("--devices", options->devices,
                   "Devices that share the samples, of each process; 0: one for each thread")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Measure at least so long")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Say why each kernel was chosen");
  add_activation_option(*verb, options->int8_activations);
  add_float_order_option(*verb, options->float_order);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

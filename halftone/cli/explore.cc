// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/explore.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/api/recipe.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/one_of.h"
#include "halftone/report/explore.h"

namespace halftone::cli {
namespace {

struct ExploreOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  ModelOptions model_options;
  std::string space;
  std::string objective = "time";
  std::string budget;
  std::string method = "tiles";
  std::optional<std::size_t> samples_per_run;
  std::size_t tries = 6;
  std::vector<std::string> test_data;
  std::optional<std::size_t> test_limit;
  std::string recipe;
  std::optional<std::uint64_t> memory_bytes;
  std::string state;
  std::string front;
  std::string recipe_out;
  std::string accelerator_out;
};

ExploreSettings settings_of(const ExploreOptions& options, const ProgressSink& progress) {
  ExploreSettings settings{.space = space_of(options.space)};
  settings.options = {accel::objective_named(options.objective),
                      accel::parse_budget(options.budget), accel::method_named(options.method),
                      progress};
  settings.recipe = load_recipe(options.recipe);
  settings.state = options.state;
  settings.batch = options.samples_per_run;
  settings.tries = options.tries;
  settings.seed = options.common.seed;
  settings.memory_bytes = options.memory_bytes;
  settings.evaluation_batch = options.data.batch;
  if (options.data.devices > 0) {
    settings.devices = spmd::Devices::emulate(static_cast<std::size_t>(options.data.devices));
  }
  return settings;
}

/// Samples on which losses are measured, if they are others.
std::optional<DataSource> test_source(const ExploreOptions& options) {
  if (options.test_data.empty()) return std::nullopt;
  DataSource source = options.data.source;
  source.paths = options.test_data;
  source.options.split = "test";
  source.options.limit = options.test_limit;
  return source;
}

void write_files(const ExploreOptions& options, const ExploreReport& report) {
  NewFiles files;
  files.add(options.front, report::front_svg(report));
  files.add(options.recipe_out, report.recipe);
  files.add(options.accelerator_out, accel::to_toml(report.accelerator));
  files.finish();
}

void run(const ExploreOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  if (options.test_limit && options.test_data.empty()) {
    fail(ErrorKind::kUsage, "--test-limit needs --test-data");
  }
  const ExploreReport report = [&] {
    Progress progress(options.common, machine);
    const ExploreSettings settings = settings_of(options, progress.sink());
    const std::optional<DataSource> evaluation = test_source(options);
    return explore(
        load(options.model, options.model_options.parse()),
        ExploreData<DataSource>{options.data.source, evaluation ? &*evaluation : nullptr},
        settings);
  }();
  write_files(options, report);
  std::cout << (options.common.json ? report::to_json(report) : printable(report::to_text(report)));
}

void add_search_options(CLI::App& verb, ExploreOptions& options) {
  verb.add_option("--space", options.space, "What may change: a TOML file")
      ->required()
      ->check(read_path());
  verb.add_option("--objective", options.objective,
                  "What is least: time, energy or edp, their product")
      ->check(OneOf({"time", "energy", "edp"}))
      ->capture_default_str();
  verb.add_option(
          "--budget", options.budget,
          "Limits: accuracy-drop=0.01 (the default), area=MM2, time=SECONDS, energy=JOULES, "
          "with commas between them")
      ->type_name("LIMITS");
  verb.add_option("--method", options.method,
                  "roofline (a lower bound), tiles (closed forms) or events (a simulation)")
      ->check(OneOf({"roofline", "tiles", "events"}))
      ->capture_default_str();
  verb.add_option("--samples-per-run", options.samples_per_run,
                  "Samples of an estimated run (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  verb.add_option("--tries", options.tries, "Designs to quantize, to verify what they lose")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--recipe", options.recipe, "TOML file that says how layers are fitted")
      ->check(read_path());
}

void add_file_options(CLI::App& verb, ExploreOptions& options) {
  verb.add_option(
          "--test-data", options.test_data,
          "Samples on which losses are measured, as --data (default: every fourth sample of "
          "--data, which is not fitted to then)")
      ->allow_extra_args(false)
      ->check(read_path("SAMPLES"));
  verb.add_option("--test-limit", options.test_limit, "Use only so many of them, from the front")
      ->check(whole_from(1));
  verb.add_option("--state", options.state,
                  "Keep what was measured in this file, and continue from it")
      ->check(written_path());
  verb.add_option("--front", options.front, "Write a picture of the front: .svg")
      ->check(written_path());
  verb.add_option("--recipe-out", options.recipe_out,
                  "Write the bits chosen as a recipe for quantize: .toml")
      ->check(written_path());
  verb.add_option("--accelerator-out", options.accelerator_out,
                  "Write the hardware chosen as a description for estimate: .toml")
      ->check(written_path());
}

}  // namespace

void add_explore(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ExploreOptions>();
  CLI::App* verb = add_verb(app, "explore", "Choose hardware and bits for each layer together",
                            "halftone explore model.onnx --space space.toml --objective energy "
                            "--budget area=1,accuracy-drop=0.01 --data examples/mnist --limit 500",
                            options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  add_model_options(*verb, options->model_options);
  add_search_options(*verb, *options);
  add_data_options(*verb, options->data, "train");
  add_memory_option(*verb, options->memory_bytes);
  add_file_options(*verb, *options);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

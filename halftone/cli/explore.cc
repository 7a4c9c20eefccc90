// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/explore.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/api/option_fields.h"
#include "halftone/api/recipe.h"
#include "halftone/base/file.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/report/explore.h"

namespace halftone::cli {
namespace {

struct ExploreOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  ModelOptions model_options;
  std::string space;
  std::string budget;
  v0::ExploreSearch search;
  TestArguments test;
  std::string recipe;
  std::string front;
  std::string recipe_out;
  std::string accelerator_out;
};

ExploreSettings settings_of(const ExploreOptions& options, const ProgressSink& progress) {
  v0::ExploreSearch search = options.search;
  search.budget = accel::parse_budget(options.budget);
  search.seed = options.common.seed;
  ExploreSettings settings = settings_for(options.space, search, progress);
  settings.recipe = load_recipe(options.recipe);
  settings.evaluation_batch = options.data.batch;
  if (options.data.devices > 0) {
    settings.devices = spmd::Devices::emulate(static_cast<std::size_t>(options.data.devices));
  }
  return settings;
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
  const ExploreReport report = [&] {
    Progress progress(options.common, machine);
    const ExploreSettings settings = settings_of(options, progress.sink());
    const std::optional<DataSource> evaluation = options.test.source(options.data.source);
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
  add_fields(verb, fields_of(options.search), {"seed"});
  verb.get_option("--state")->check(written_path());
  verb.add_option(
          "--budget", options.budget,
          "Limits: accuracy-drop=0.01 (the default), area=MM2, time=SECONDS, energy=JOULES, "
          "with commas between them")
      ->type_name("LIMITS");
  verb.add_option("--recipe", options.recipe, "TOML file that says how layers are fitted")
      ->check(read_path());
}

void add_file_options(CLI::App& verb, ExploreOptions& options) {
  add_test_options(verb, options.test,
                   "every fourth sample of --data, which is not fitted to then");
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
  add_memory_option(*verb, options->search.sample_memory_bytes);
  add_file_options(*verb, *options);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

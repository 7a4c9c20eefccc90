// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/crossbar.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/api/option_fields.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct CrossbarOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  ModelOptions model_options;
  std::string device;
  v0::CrossbarOptions how;
};

void run(const CrossbarOptions& options, const Machine& machine) {
  apply(options.common);
  const crossbar::CrossbarDevice device = device_of(options.device, options.how.seconds);
  Network network = load(options.model, options.model_options.parse());
  const data::Dataset data = options.data.source.open();
  const CrossbarReport report = [&] {
    Progress progress(options.common, machine);
    v0::CrossbarOptions how = options.how;
    how.seed = options.common.seed;
    how.batch = options.data.batch;
    return run_on_crossbar(std::move(network), data, device,
                           options_of(how, progress.sink(), machine.devices(options.data.devices)));
  }();
  std::cout << (options.common.json ? report::to_json(report) : printable(report::to_text(report)));
}

}  // namespace

void add_crossbar(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CrossbarOptions>();
  CLI::App* verb = add_verb(app, "crossbar", "Simulate the layers of bits on memristive crossbars",
                            "halftone crossbar model.circle --device pcm --data examples/mnist",
                            options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  add_model_options(*verb, options->model_options);
  verb->add_option("--device", options->device,
                   "TOML file that describes the device, or ideal, pcm, reram")
      ->required()
      ->check(read_path("DEVICE"));
  add_data_options(*verb, options->data, "test");
  add_fields(*verb, fields_of(options->how), {"batch", "seed"});
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

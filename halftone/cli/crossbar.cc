// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/crossbar.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct CrossbarOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  ModelOptions model_options;
  std::string device;
  std::size_t seeds = 10;
  std::optional<double> seconds;
};

void run(const CrossbarOptions& options, const Machine& machine) {
  apply(options.common);
  crossbar::CrossbarDevice device = crossbar::load_device(options.device);
  if (options.seconds) device.seconds = *options.seconds;
  Network network = load(options.model, options.model_options.parse());
  const data::Dataset data = options.data.source.open();
  const CrossbarReport report = [&] {
    Progress progress(options.common, machine);
    crossbar::NetworkOptions how;
    how.num_seeds = options.seeds;
    how.seed = options.common.seed;
    how.evaluate.batch = options.data.batch;
    how.evaluate.progress = progress.sink();
    how.evaluate.devices = machine.devices(options.data.devices);
    return run_on_crossbar(std::move(network), data, device, how);
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
  verb->add_option("--seeds", options->seeds, "Devices to program, with seeds from --seed on")
      ->check(whole_from(1))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds,
                   "Time from programming to reading; default: as the description says")
      ->check(positive_number());
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

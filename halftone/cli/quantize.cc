// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/quantize.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/formats/model.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct QuantizeOptions {
  CommonOptions common;
  DataOptions data;
  std::string input;
  std::string output;
  RecipeOptions recipe;
  std::optional<std::uint64_t> memory_bytes;  ///< for values of the samples
};

void run(const QuantizeOptions& options, const Machine& machine) {
  const auto start = std::chrono::steady_clock::now();
  apply(options.common);
  const compress::Recipe recipe = make_recipe(options.recipe);
  // Integer weights are fitted again, from the values they represent.
  const ir::Graph graph = load_network(options.input, {.dequantize = true});
  // Checks the request before the work, not after it.
  formats::check_model(graph, options.output);
  const data::Dataset data = open_data(options.data);
  const compress::QuantizeResult result = [&] {
    Progress progress(options.common, machine);
    return compress::quantize(graph, data, recipe,
                              {options.common.seed, progress.sink(),
                               machine.devices(options.data.devices), options.memory_bytes});
  }();
  if (!machine.is_first()) return;
  formats::save_model(result.graph, options.output);

  report::QuantizeSummary summary;
  summary.input_bytes = std::filesystem::file_size(options.input);
  summary.output_bytes = std::filesystem::file_size(options.output);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  summary.seconds = std::chrono::duration<double>(elapsed).count();
  summary.skipped_blocks = result.skipped_blocks;
  std::cout << (options.common.json ? report::to_json(result.layers, summary)
                                    : printable(report::to_text(result.layers, summary)));
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  const auto options = std::make_shared<QuantizeOptions>();
  CLI::App* verb =
      add_verb(app, "quantize", "Learn few-bit weights and activations from unlabelled samples",
               "halftone quantize model.onnx -o model.circle --data examples/mnist "
               "--weight-bits 2 --activation-bits 2",
               options->common);
  verb->add_option("model", options->input, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  verb->add_option("-o,--output", options->output, "File to write: .circle, .tflite or .onnx")
      ->required()
      ->check(some_path());
  add_data_options(*verb, options->data, "train");
  add_recipe_options(*verb, options->recipe);
  verb->add_option("--memory", options->memory_bytes,
                   "Memory for values of the samples between layers, as in 512M or 4G; less makes "
                   "it slower, and changes no result (default: a quarter of what is free)")
      ->transform(CLI::AsSizeValue(false));
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

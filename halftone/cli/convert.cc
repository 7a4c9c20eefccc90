// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/api/inspection.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct ConvertOptions {
  CommonOptions common;
  std::string input;
  std::string output;
  ModelOptions model_options;
  bool decoded = false;
  formats::ExportOptions form;
};

void run(const ConvertOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  const Inspection inspection = convert({options.input,
                                         options.output,
                                         options.model_options.parse(),
                                         {options.form, options.decoded}});
  for (const std::string& warning : inspection.warnings) {
    if (!options.common.quiet) std::cerr << "halftone: warning: " << printable(warning) << '\n';
  }
  if (options.common.json) {
    std::cout << report::to_json(inspection);
  } else if (!options.common.quiet) {
    std::cout << printable(report::to_summary(inspection));
  }
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb = add_verb(app, "convert", "Convert a network between formats, by file name",
                            "halftone convert model.onnx model.tflite\n"
                            "  halftone convert quantized.circle for_onnxruntime.onnx --standard",
                            options->common);
  verb->add_option("input", options->input, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  verb->add_option("output", options->output, "File to write: .onnx, .tflite or .circle")
      ->required()
      ->check(written_path());
  verb->add_flag("--decoded", options->decoded,
                 "Write float32 in place of codes, with operators that every runtime has");
  add_model_options(*verb, options->model_options);
  add_form_options(*verb, options->form);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "halftone/api/inspection.h"
#include "halftone/api/language_conversion.h"
#include "halftone/api/language_model.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/language.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct ConvertOptions {
  CommonOptions common;
  std::string input;
  std::string output;
  OpenOptions open;  ///< of a language model: the adapter
  ModelOptions model_options;
  bool decoded = false;
  formats::ExportOptions form;
};

void run_language(const ConvertOptions& options, const Machine& machine) {
  const LanguageConvertReport report =
      convert_language_model({options.input, options.output, options.open.lora});
  Progress(options.common, machine).print_warnings(report.warnings);
  if (options.common.json) {
    std::cout << report::to_json(report);
  } else if (!options.common.quiet) {
    std::cout << printable(report::to_text(report));
  }
}

void run(const ConvertOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  if (is_language_model(options.input)) return run_language(options, machine);
  const Inspection inspection = convert({options.input,
                                         options.output,
                                         options.model_options.parse(),
                                         {options.form, options.decoded}});
  Progress(options.common, machine).print_warnings(inspection.warnings);
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
                            "  halftone convert folder model.gguf --lora adapter\n"
                            "  halftone convert quantized.circle for_onnxruntime.onnx --standard",
                            options->common);
  verb->add_option("input", options->input,
                   "ONNX, TFLite or circle file; or a language model: a GGUF file or a folder of "
                   "Hugging Face")
      ->required()
      ->check(read_path());
  verb->add_option("output", options->output,
                   "File to write: .onnx, .tflite or .circle; of a language model .gguf, or a new "
                   "folder")
      ->required()
      ->check(written_path());
  CLI::Option* lora = add_open_fields(*verb, options->open, {"lora"}).front();
  const std::size_t num_shared = verb->get_options().size();
  verb->add_flag("--decoded", options->decoded,
                 "Write float32 in place of codes, with operators that every runtime has");
  add_model_options(*verb, options->model_options);
  add_form_options(*verb, options->form);
  const std::vector<CLI::Option*> networks = options_from(*verb, num_shared);
  verb->final_callback([options, lora, networks, &action] {
    const bool is_language = is_language_model(options->input);
    if (is_language) refuse_given(networks, kNetworkOnly);
    if (!is_language) refuse_given({lora}, kLanguageOnly);
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

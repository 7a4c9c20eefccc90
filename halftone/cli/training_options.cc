// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/training_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "halftone/api/option_fields.h"
#include "halftone/cli/field_options.h"

namespace halftone::cli {
namespace {

/// A path that leaves room for run.csv and run.svg beside it.
CLI::Validator checkpoint_path() {
  const auto check = [](const std::string& text) -> std::string {
    const std::string ending = std::filesystem::path(text).extension().string();
    if (ending != ".csv" && ending != ".svg") return "";
    return "expected a file extension other than .csv and .svg, which the files beside it have, "
           "found '" +
           ending + "'";
  };
  return CLI::Validator(check, "");
}

}  // namespace

void add_training_options(CLI::App& verb, TrainingOptions& options) {
  verb.add_option("-o,--output", options.output, "File to write: .circle, .tflite or .onnx")
      ->required()
      ->check(written_path());
  options.data.batch = options.train.batch;
  add_model_options(verb, options.model);
  add_data_options(verb, options.data, "train");
  const Fields fields = fields_of(options.train);
  add_fields(verb, fields, {"batch", "seed"});
  CLI::Option* checkpoint =
      option_of(verb, fields, "checkpoint")->check(checkpoint_path())->check(written_path());
  for (const char* name : {"checkpoint_minutes", "resume"}) {
    option_of(verb, fields, name)->needs(checkpoint);
  }
}

}  // namespace halftone::cli

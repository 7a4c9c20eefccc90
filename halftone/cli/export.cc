// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "halftone/api/export_c.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/export_c.h"

namespace halftone::cli {
namespace {

struct ExportOptions {
  CommonOptions common;
  ModelOptions model_options;
  std::string model;
  std::string folder;
  std::string target;
  v0::ExportCOptions how;
};

void run(const ExportOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  Network network = load(options.model, options.model_options.parse());
  const v0::CExport written =
      options.target == "c" ? export_c_sources(std::move(network), options.folder, options.how)
                            : export_wasm_files(std::move(network), options.folder, options.how);
  if (options.common.json) {
    std::cout << report::to_json(written);
  } else if (!options.common.quiet) {
    std::cout << printable(report::to_text(written, options.folder));
  }
}

/// Adds the options of what is written.
void add_how(CLI::App& verb, ExportOptions& options) {
  verb.add_option("--target", options.target,
                  "What to write: c, C99 that needs nothing; wasm, a module and a page for "
                  "browsers (needs Debian's clang and lld)")
      ->required()
      ->check(CLI::IsMember({"c", "wasm"}));
  verb.add_option("--name", options.how.name, "Of files, functions and types in C (default net)")
      ->check(some_text("NAME"));
  verb.add_option("--core", options.how.core,
                  "Processor for which kernels are chosen; the program runs on any: cortex-m0, "
                  "cortex-m3, cortex-m4 (the default), cortex-m7, cortex-m33, cortex-m55, rv32, "
                  "rv32-zbb")
      ->check(some_text("CORE"));
  verb.add_option("--ram", options.how.ram_bytes,
                  "Fail if values and scratch need more bytes than this, such as 64K")
      ->transform(byte_count());
  verb.add_flag("--input-codes", options.how.input_codes,
                "Inputs of float32 that the network encodes at once are its codes of 8 bits");
  verb.add_flag("--pointers", options.how.pointers,
                "Inputs and outputs stay in the memory of the caller, who passes pointers to each "
                "run");
  verb.add_option("--vectors", options.how.vectors,
                  "Runs that the program of the test repeats (default 3)")
      ->check(whole_from(1));
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* verb =
      add_verb(app, "export", "Write a network as C sources for microcontrollers, or for browsers",
               "halftone export quantized.circle -o firmware --target c --ram 64K\n"
               "halftone export quantized.circle -o page --target wasm",
               options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  verb->add_option("-o,--output", options->folder,
                   "Folder to write, new or of an earlier export; others' files stay")
      ->required()
      ->check(written_path("FOLDER"));
  add_how(*verb, *options);
  add_model_options(*verb, options->model_options);
  const std::vector<CLI::Option*> of_c = {verb->get_option("--core"), verb->get_option("--vectors"),
                                          verb->get_option("--input-codes"),
                                          verb->get_option("--pointers")};
  verb->final_callback([options, &action, of_c] {
    for (const CLI::Option* each : of_c) {
      if (options->target == "c" || !*each) continue;
      throw CLI::ValidationError(each->get_name(), "only with --target c");
    }
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

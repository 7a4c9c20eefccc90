// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/estimate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/api/option_fields.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/report/estimate.h"

namespace halftone::cli {
namespace {

struct EstimateOptions {
  CommonOptions common;
  std::string model;
  ModelOptions model_options;
  RecipeOptions recipe;
  std::string accelerator;
  bool list = false;
  bool describe = false;
  bool measure = false;
  std::string device;  ///< that --measure describes; empty: the processor
  std::string output;
  v0::EstimateOptions how;
  bool execute = false;
  std::string product;         ///< "1000x784x10"
  std::string language_model;  ///< config.json
  LanguageEstimateOptions language;
  std::string timeline;
  std::string roofline;
  CLI::App* verb = nullptr;                   ///< whose options are checked
  std::vector<CLI::Option*> common_options;   ///< of every verb
  std::vector<CLI::Option*> network_options;  ///< that say how a network is read and quantized
};

/// What a command does, in messages.
enum class Mode : std::uint8_t { kList, kDescribe, kMeasure, kNetwork, kShape, kFile, kProduct };

Mode mode_of(const EstimateOptions& options) {
  if (options.list) return Mode::kList;
  if (options.measure) return Mode::kMeasure;
  if (options.describe) return Mode::kDescribe;
  if (!options.product.empty()) return Mode::kProduct;
  if (!options.language_model.empty()) {
    return is_language_model(options.language_model) ? Mode::kFile : Mode::kShape;
  }
  return is_language_model(options.model) ? Mode::kFile : Mode::kNetwork;
}

std::string_view to_string(Mode mode) {
  constexpr std::string_view kNames[] = {"--list",    "--describe", "--measure",
                                         "a network", "--llm",      "a language model in a file",
                                         "--product"};
  return kNames[static_cast<std::size_t>(mode)];
}

using Names = std::vector<std::string_view>;

/// The options that a command reads beside those of every verb.
Names read_options(Mode mode, bool executes) {
  if (mode == Mode::kList) return {"--list"};
  if (mode == Mode::kMeasure) return {"--measure", "--device", "--output"};
  if (mode == Mode::kDescribe) return {"--describe", "--accelerator"};
  Names names = {"model", "--llm", "--product", "--accelerator"};
  const auto add = [&](const Names& more) { names.insert(names.end(), more.begin(), more.end()); };
  if (!executes) add({"--method", "--devices", "--split", "--timeline", "--roofline"});
  if (mode != Mode::kFile) add({"--weight-bits"});
  add({"--activation-bits"});
  if (mode != Mode::kProduct) add({"--batch"});
  if (mode == Mode::kProduct || mode == Mode::kNetwork) add({"--execute"});
  if (mode == Mode::kNetwork) add({"--training"});
  if (mode == Mode::kShape || mode == Mode::kFile) add({"--prompt", "--context", "--cache-bits"});
  if (mode == Mode::kShape) add({"--group-size"});
  if (mode == Mode::kFile) add({"--bits"});
  return names;
}

template <typename List, typename Value>
bool has(const List& list, const Value& value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

/// Whether a command reads an option.
bool reads(const EstimateOptions& options, Mode mode, bool executes, const CLI::Option* option) {
  const std::string name = option->get_name();
  const bool shows_text = mode == Mode::kList || mode == Mode::kDescribe || mode == Mode::kMeasure;
  if (has(options.common_options, option)) return !shows_text || name != "--json";
  if (mode == Mode::kNetwork && has(options.network_options, option)) return true;
  return has(read_options(mode, executes), name);
}

/// Refuses options that the command would not read.
void check_options(const EstimateOptions& options, Mode mode) {
  for (const CLI::Option* option : options.verb->get_options()) {
    if (option->count() == 0 || reads(options, mode, options.execute, option)) continue;
    const bool is_of_execute =
        option->get_name() != "--execute" && reads(options, mode, false, option);
    fail(ErrorKind::kUsage,
         (option->get_positional() ? "the network" : option->get_name()) + " does nothing with " +
             std::string(is_of_execute ? "--execute" : to_string(mode)) + ": leave it out");
  }
}

accel::Number number_of(int bits) { return {bits, bits >= 16}; }

void list_accelerators() {
  for (const std::string& name : accel::shipped_accelerators()) {
    const accel::Accelerator chip = accel::load_accelerator(name);
    std::cout << name << std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') << chip.name
              << "\n";
  }
}

void write_pictures(const EstimateOptions& options, const accel::Estimate& estimate,
                    const accel::Accelerator& accelerator) {
  NewFiles files;
  if (!options.roofline.empty()) {
    files.add(options.roofline, report::roofline_svg(estimate, accelerator));
  }
  if (!options.timeline.empty()) {
    const bool is_picture = std::filesystem::path(options.timeline).extension() == ".svg";
    files.add(options.timeline,
              is_picture ? report::timeline_svg(estimate) : report::timeline_trace(estimate));
  }
  files.finish();
}

template <typename Result>
void print_estimate(const EstimateOptions& options, const Result& result) {
  std::cout << (options.common.json ? report::to_json(result) : printable(report::to_text(result)));
}

void run_language(const EstimateOptions& options, const accel::Accelerator& accelerator) {
  const std::string& file = options.language_model.empty() ? options.model : options.language_model;
  LanguageEstimateOptions language = options.language;
  language.batch = options.how.batch.value_or(language.batch);
  language.weight_bits = options.recipe.weight_bits();
  if (const auto bits = options.recipe.activation_bits()) language.activation_bits = *bits;
  language.method = options.how.method;
  language.devices = options.how.devices;
  language.split = options.how.split;
  const v0::LanguageEstimate result = estimate_language_model(file, accelerator, language);
  write_pictures(options, result.token, accelerator);
  print_estimate(options, result);
}

accel::Workload workload(const EstimateOptions& options, const EstimateJob& job) {
  if (options.product.empty()) {
    return workload_of(load(options.model, options.model_options.parse()), job);
  }
  accel::Product product = parse_product(options.product);
  product.w = number_of(options.recipe.weight_bits().value_or(32));
  product.x = number_of(options.recipe.activation_bits().value_or(32));
  return accel::workload_of(product);
}

void run_network(const EstimateOptions& options, const accel::Accelerator& accelerator) {
  EstimateJob job = job_of(options.how);
  if (options.recipe.is_given() && options.product.empty()) {
    job.recipe = make_recipe(options.recipe);
  }
  const accel::Workload work = workload(options, job);
  if (options.execute) {
    const auto executed = run_tiles(
        work, accelerator, {.seed = options.common.seed, .devices = spmd::Devices::for_threads()});
    std::cout << (options.common.json ? report::to_json(executed)
                                      : printable(report::to_text(executed)));
    return;
  }
  const accel::Estimate result = accel::estimate(work, accelerator, job.options);
  write_pictures(options, result, accelerator);
  print_estimate(options, result);
}

/// Describes this processor, or a graphics card.
void run_measure(const EstimateOptions& options, const Machine& machine) {
  if (options.output.empty()) fail(ErrorKind::kUsage, "--measure needs -o, a TOML file to write");
  Progress progress(options.common, machine);
  const accel::Accelerator found = measure_hardware(options.device, progress.sink());
  write_file(options.output, accel::to_toml(found));
  if (!options.common.quiet) {
    progress.print_line(found.name + ": " + found.comparison);
  }
}

void run(const EstimateOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  const Mode mode = mode_of(options);
  check_options(options, mode);
  if (options.list) return list_accelerators();
  if (options.measure) return run_measure(options, machine);
  if (options.accelerator.empty()) {
    fail(ErrorKind::kUsage, "estimate needs --accelerator: a name that --list shows, or a file");
  }
  if (options.describe) {
    std::cout << printable(accel::accelerator_text(options.accelerator));
    return;
  }
  const accel::Accelerator accelerator = accel::load_accelerator(options.accelerator);
  const int given = static_cast<int>(!options.model.empty()) +
                    static_cast<int>(!options.language_model.empty()) +
                    static_cast<int>(!options.product.empty());
  if (given != 1) {
    fail(ErrorKind::kUsage, "estimate needs one of: a network, --llm config.json, --product");
  }
  if (mode == Mode::kShape || mode == Mode::kFile) {
    run_language(options, accelerator);
  } else {
    run_network(options, accelerator);
  }
}

void add_hardware_options(CLI::App& verb, EstimateOptions& options) {
  verb.add_option("--accelerator", options.accelerator,
                  "Hardware: a name that --list shows, or a TOML file")
      ->check(read_path("HARDWARE"));
  verb.add_flag("--list", options.list, "List the hardware that comes with the program");
  CLI::Option* measure = verb.add_flag("--measure", options.measure,
                                       "Measure this processor or a card and write a description");
  add_field(verb, device_field(options.device))->needs(measure);
  verb.add_option("-o,--output", options.output, "File of the description: .toml")
      ->check(written_path())
      ->needs(measure);
  verb.add_flag("--describe", options.describe, "Show the description of --accelerator");
}

/// Remembers the options that `add` adds as those of networks.
template <typename Add>
void add_of_networks(CLI::App& verb, EstimateOptions& options, const Add& add) {
  const auto before = static_cast<std::ptrdiff_t>(verb.get_options().size());
  add();
  const std::vector<CLI::Option*> all = verb.get_options();
  options.network_options.insert(options.network_options.end(), all.begin() + before, all.end());
}

void add_work_options(CLI::App& verb, EstimateOptions& options) {
  verb.add_option("model", options.model,
                  "ONNX, TFLite or circle file; or a language model: .gguf, .safetensors, a folder")
      ->check(read_path());
  add_of_networks(verb, options, [&] { add_model_options(verb, options.model_options); });
  add_hardware_options(verb, options);
  add_fields(verb, fields_of(options.how));
  verb.add_option("--product", options.product,
                  "A matrix product in place of a network: ROWSxINNERxCOLUMNS")
      ->check(some_text("PRODUCT"));
  add_of_networks(verb, options, [&] { add_recipe_options(verb, options.recipe); });
  verb.add_flag("--execute", options.execute,
                "Run the products in their tiles on emulated units, and compare");
}

void add_language_options(CLI::App& verb, EstimateOptions& options) {
  verb.add_option("--llm", options.language_model,
                  "A language model by its shape alone: config.json of a Hugging Face folder")
      ->check(read_path());
  const Fields fields = fields_of(options.language);
  for (const char* name : {"bits", "prompt", "context", "cache_bits", "group_size"}) {
    add_field(verb, *find_field(fields, name));
  }
}

void add_picture_options(CLI::App& verb, EstimateOptions& options) {
  verb.add_option("--timeline", options.timeline,
                  "Write what runs when: .svg, or .json for Perfetto and chrome://tracing")
      ->check(written_path());
  verb.add_option("--roofline", options.roofline, "Write a roofline plot: .svg")
      ->check(written_path());
}

}  // namespace

void add_estimate(CLI::App& app, Action& action) {
  const auto options = std::make_shared<EstimateOptions>();
  CLI::App* verb = add_verb(app, "estimate", "Time and energy of a network on described hardware",
                            "halftone estimate model.onnx --accelerator edge-2bit --weight-bits 2 "
                            "--activation-bits 2",
                            options->common);
  options->verb = verb;
  options->common_options = verb->get_options();
  add_work_options(*verb, *options);
  add_language_options(*verb, *options);
  add_picture_options(*verb, *options);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

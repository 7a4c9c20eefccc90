// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>

#include "halftone/api/option_fields.h"
#include "halftone/base/byte_count.h"
#include "halftone/base/parallel.h"
#include "halftone/base/printable.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/one_of.h"
#include "halftone/kernels/targets.h"

namespace halftone::cli {
namespace {

/// A finite double, or nullopt.
std::optional<double> finite_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

CLI::Validator byte_count() {
  const auto transform = [](std::string& text) -> std::string {
    constexpr double kMax = 9e18;  // below 2^63
    const std::optional<double> bytes = parse_bytes(text);
    if (!bytes || *bytes > kMax || *bytes != std::floor(*bytes)) {
      return "expected a number of bytes, such as 512M, 4GB or 3GiB, found '" + text + "'";
    }
    text = std::to_string(static_cast<std::uint64_t>(*bytes));
    return "";
  };
  return {transform, ""};
}

CLI::Validator positive_number() {
  const auto check = [](const std::string& text) -> std::string {
    const std::optional<double> value = finite_number(text);
    return value && *value > 0 ? "" : "expected a number above 0, found '" + text + "'";
  };
  return {check, ""};
}

CLI::Validator non_negative_number() {
  const auto check = [](const std::string& text) -> std::string {
    const std::optional<double> value = finite_number(text);
    return value && *value >= 0 ? "" : "expected a number of at least 0, found '" + text + "'";
  };
  return {check, ""};
}

CLI::Validator number_from(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    const std::optional<double> value = finite_number(text);
    if (value && *value >= low && *value <= high) return "";
    return fmt::format("expected a number from {} to {}, found '{}'", low, high, text);
  };
  return {check, ""};
}

CLI::Validator whole_from(std::uint64_t low) {
  const auto check = [low](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && rest == end && value >= low) return "";
    return fmt::format("expected a whole number from {} to {}, found '{}'", low,
                       std::numeric_limits<std::uint64_t>::max(), text);
  };
  return {check, ""};
}

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& description,
                   const std::string& example, CommonOptions& common) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->footer("\nExample: " + example);
  verb->add_option("--threads", common.threads, "Threads to use; 0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--seed", common.seed, "Seed of everything random")
      ->check(whole_from(0))
      ->capture_default_str();
  verb->add_option("--simd", common.simd, "Restrict the kernels to an instruction set, e.g. AVX2");
  verb->add_flag(
      "--quiet,-q", common.quiet,
      "Nothing but errors and what was asked for: no progress, no table of a verb that writes "
      "a file");
  verb->add_flag("--json", common.json, "Result as JSON");
  return verb;
}

void add_execution_options(CLI::App& verb, runtime::ExecutionOptions& execution) {
  verb.add_flag("--float-activations{false}", execution.int8_activations,
                "Round no activations to 8 bits: layers of 8-bit integers compute bits or float32");
  const auto set = [&order = execution.float_order](const std::string& name) {
    order = name == "fixed" ? runtime::FloatOrder::kFixed : runtime::FloatOrder::kFastest;
  };
  verb.add_option_function<std::string>(
          "--float-order", set,
          "Order in which float32 layers add: fastest, or fixed: the same bits on every processor")
      ->check(OneOf({"fastest", "fixed"}))
      ->default_str("fastest");
}

void add_tune_options(CLI::App& verb, TuneOptions& options) {
  CLI::Option* tune = verb.add_flag("--tune", options.tune,
                                    "Measure which kernels are fastest here; changes no result");
  verb.add_option("--tuning-file", options.file,
                  "File that keeps what --tune measured (default ~/.cache/halftone/tuning.txt)")
      ->check(written_path())
      ->needs(tune);
}

TuningFile::TuningFile(const TuneOptions& options) {
  if (!options.tune) return;
  file_ =
      options.file.empty() ? runtime::default_tuning_file() : std::filesystem::path(options.file);
  if (file_.empty()) {
    fail(ErrorKind::kUsage,
         "--tune: no default tuning file because HOME is not set: give one with --tuning-file");
  }
  tuning_ = std::make_shared<runtime::Tuning>(runtime::Tuning::read(file_));
}

void TuningFile::show(Progress& progress) const {
  if (tuning_ != nullptr) tuning_->set_progress(progress.sink());
}

void TuningFile::save(const Machine& machine) const {
  if (tuning_ != nullptr && machine.is_first()) tuning_->write(file_);
}

void add_model_options(CLI::App& verb, ModelOptions& model) {
  verb.add_option("--shape", model.shapes,
                  "NAME=EXTENT,...: shape of an input, as in x=1,3,320,320; N is the batch; "
                  "repeatable")
      ->allow_extra_args(false);
  verb.add_option("--constant", model.constants,
                  "NAME=NUMBER or NAME=FILE.npy: fixes an input to a value; repeatable")
      ->allow_extra_args(false)
      ->check(read_path(""));
  verb.add_option("--max-iterations", model.max_iterations,
                  "Iterations until a loop of the network counts as one without an end")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
}

void add_data_options(CLI::App& verb, DataArguments& data, const std::string& default_split) {
  data::DatasetOptions& options = data.source.options;
  options.split = default_split;
  verb.add_option("--data", data.source.paths,
                  "Samples: a folder with IDX, .npy or .npz files, CIFAR-10 *.bin, x.npy or "
                  "x.npy,y.npy, x.npz, HDF5; for several inputs repeatable: [NAME=]x.npy")
      ->required()
      ->allow_extra_args(false)
      ->check(read_path("SAMPLES"));
  add_fields(verb, fields_of(options));
  verb.add_option("--devices", data.devices,
                  "Devices that share the samples, of each process; 0: one for each thread")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  add_field(verb, batch_field(data.batch));
}

std::optional<DataSource> TestArguments::source(const DataSource& data) const {
  if (paths.empty()) return std::nullopt;
  DataSource source = data;
  source.paths = paths;
  source.options.split = "test";
  source.options.limit = limit;
  return source;
}

void add_test_options(CLI::App& verb, TestArguments& test, const std::string& usual) {
  CLI::Option* data =
      verb.add_option("--test-data", test.paths,
                      "Samples on which losses are measured, as --data (default: " + usual + ")")
          ->allow_extra_args(false)
          ->check(read_path("SAMPLES"));
  verb.add_option("--test-limit", test.limit, "Use only so many of them, from the front")
      ->check(whole_from(1))
      ->needs(data);
}

void add_memory_option(CLI::App& verb, std::optional<std::uint64_t>& memory_bytes) {
  add_field(verb, memory_field(memory_bytes))->transform(byte_count());
}

void add_form_options(CLI::App& verb, formats::ExportOptions& form) {
  verb.add_flag("--standard", form.standard,
                "ONNX: write codes for operators of ONNX itself, which other runtimes read; layers "
                "compute in float32");
  verb.add_flag("--matmul-nbits", form.matmul_nbits,
                "The same, with ONNX Runtime's MatMulNBits where weights have groups of 16, 32, "
                "64, ... inputs");
  verb.add_flag(
      "--one-operator", form.one_operator,
      "ONNX and TFLite: write the network as one operator for ONNX Runtime or LiteRT with "
      "Halftone's library");
}

void add_recipe_options(CLI::App& verb, RecipeOptions& recipe) {
  const Fields fields = fields_of(recipe.settings);
  for (const char* name : {"weight_bits", "activation_bits", "ends", "scheme", "weight_scheme",
                           "type", "activation_scheme", "arithmetic", "calibrator"}) {
    CLI::Option* option = add_field(verb, *find_field(fields, name));
    if (std::string_view(name).ends_with("scheme")) option->type_name("SYSTEM");
  }
  verb.get_option("--type")->type_name("TYPE");
  verb.add_option("--recipe", recipe.recipe,
                  "TOML file with settings per layer and for the fitting")
      ->check(read_path());
}

void apply(const CommonOptions& common) {
  set_num_threads(common.threads);
  kernels::use_simd_target_from_environment();
  if (!common.simd.empty()) kernels::use_simd_target(common.simd);
}

compress::Recipe make_recipe(const RecipeOptions& options) {
  return load_recipe(options.recipe, options.settings);
}

Progress::Progress(const CommonOptions& common, const Machine& machine)
    : speaks_(machine.is_first() && !common.quiet),
      visible_(speaks_ && ::isatty(STDERR_FILENO) == 1) {}

void Progress::print_line(const std::string& line) {
  if (!speaks_) return;
  const std::lock_guard lock(mutex_);
  std::cerr << (visible_ ? "\r\033[K" : "") << printable(line) << "\n" << std::flush;
}

void Progress::print_warnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) print_line("warning: " + printable(warning));
}

Progress::~Progress() {
  if (visible_) std::cerr << "\r\033[K" << std::flush;
}

ProgressSink Progress::sink() {
  if (!speaks_) return {};
  return [this](double fraction, std::string_view activity) { show(fraction, activity); };
}

std::string Progress::time_left(double fraction) const {
  if (fraction <= 0.05) return "";
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  return fmt::format(", {:.0f} s left", elapsed / fraction * (1 - fraction));
}

void Progress::show(double fraction, std::string_view activity) {
  constexpr auto kBarInterval = std::chrono::milliseconds(100);
  constexpr auto kLineInterval = std::chrono::minutes(1);
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (visible_ ? now - last_ < kBarInterval : now - last_ < kLineInterval) return;
  last_ = now;
  const std::string left = time_left(fraction);
  if (!visible_) {
    std::cerr << fmt::format("{:.0f} %{}: {}\n", 100 * fraction, left, printable_line(activity))
              << std::flush;
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(fraction * kWidth);
  std::cerr << fmt::format("\r\033[K[{:#<{}}{:.<{}}] {:3.0f} %{} {}", "", filled, "",
                           kWidth - filled, 100 * fraction, left, printable_line(activity))
            << std::flush;
}

}  // namespace halftone::cli

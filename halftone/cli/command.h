// SPDX-License-Identifier: Apache-2.0
// Shared by all verbs: the common options, and the action that main() runs.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/data_source.h"
#include "halftone/api/import_texts.h"
#include "halftone/api/machine.h"
#include "halftone/api/recipe.h"
#include "halftone/base/progress.h"
#include "halftone/cli/option_files.h"
#include "halftone/formats/options.h"
#include "halftone/runtime/execution_options.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/plan/tuning.h"
#include "halftone/types/defaults.hpp"

namespace halftone::cli {

/// Options of every verb.
struct CommonOptions {
  int threads = 0;  ///< 0: all cores
  std::uint64_t seed = 0;
  std::string simd;
  bool quiet = false;
  bool json = false;
};

/// Shapes and values for inputs of the networks of a command, as texts.
struct ModelOptions {
  std::vector<std::string> shapes;
  std::vector<std::string> constants;
  std::size_t max_iterations = formats::ImportOptions().max_iterations;

  /// @throws Error as parse_import_options()
  [[nodiscard]] formats::ImportOptions parse() const {
    formats::ImportOptions options = parse_import_options(shapes, constants);
    options.max_iterations = max_iterations;
    return options;
  }
};

/// Options of the verbs that read samples.
struct DataArguments {
  DataSource source;
  std::size_t batch = v0::kRunBatch;
  int devices = 0;  ///< per process; 0: one device per thread
};

/// Other samples, on which losses are measured.
struct TestArguments {
  std::vector<std::string> paths;  ///< empty: there are none
  std::optional<std::size_t> limit;

  /// The samples, read as those of --data; none if there are no others.
  [[nodiscard]] std::optional<DataSource> source(const DataSource& data) const;
};

/// Options of the verbs that quantize networks.
struct RecipeOptions {
  SettingNames settings;
  std::string recipe;  ///< a file

  [[nodiscard]] bool is_given() const { return settings != SettingNames{} || !recipe.empty(); }
  /// The bits of weights; nothing for float32.
  [[nodiscard]] std::optional<int> weight_bits() const { return some(settings.layers.weight_bits); }
  /// Likewise of activations.
  [[nodiscard]] std::optional<int> activation_bits() const {
    return some(settings.layers.activation_bits);
  }

 private:
  static std::optional<int> some(std::optional<int> bits) {
    return bits == 0 ? std::nullopt : bits;
  }
};

/// Whether to measure kernels, and the file of what was measured.
struct TuneOptions {
  bool tune = false;
  std::string file;  ///< empty: runtime::default_tuning_file()
};

/// The work that main() runs after parsing. This separates parse errors from errors of the work.
using Action = std::function<void(const Machine&)>;

/// Declares a verb with the common options. `run` becomes the action once the verb is chosen.
/// @param example  a command line, shown at the end of the help text
CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& description,
                   const std::string& example, CommonOptions& common);
/// Makes a number of "512M", "4GB" or "3GiB": parse_bytes().
CLI::Validator byte_count();
/// Accepts finite numbers above 0. The check of CLI11 prints the largest double with 309 digits.
CLI::Validator positive_number();
/// Accepts finite numbers of at least 0.
CLI::Validator non_negative_number();
/// Accepts finite numbers from `low` to `high`. CLI::Range accepts NaN.
CLI::Validator number_from(double low, double high);
/// Accepts whole numbers of at least `low` in 64 bits. CLI11 alone parses -1 as the largest one.
CLI::Validator whole_from(std::uint64_t low);
/// Adds --float-activations, which clears `int8_activations`, and --float-order, the order of
/// additions in float32 layers.
void add_execution_options(CLI::App& verb, runtime::ExecutionOptions& execution);
/// Adds --tune and --tuning-file.
void add_tune_options(CLI::App& verb, TuneOptions& options);
/// Adds --shape and --constant.
void add_model_options(CLI::App& verb, ModelOptions& model);
void add_data_options(CLI::App& verb, DataArguments& data, const std::string& default_split);
/// Adds --test-data and --test-limit.
/// @param usual  what the samples are without them
void add_test_options(CLI::App& verb, TestArguments& test, const std::string& usual);
/// Adds --standard, --matmul-nbits and --one-operator.
void add_form_options(CLI::App& verb, formats::ExportOptions& form);
/// Adds --memory, a limit for values of the calibration samples.
void add_memory_option(CLI::App& verb, std::optional<std::uint64_t>& memory_bytes);
void add_recipe_options(CLI::App& verb, RecipeOptions& recipe);

/// Applies the number of threads and the SIMD target.
/// @throws Error kUsage if one is out of range
void apply(const CommonOptions& common);
/// The recipe of the file, if any. The other options override its defaults.
/// @throws Error as load_recipe()
compress::Recipe make_recipe(const RecipeOptions& options);

/// Unless the command is quiet, a progress bar on stderr if that is a terminal, else a line a
/// minute. The destructor erases the bar.
class Progress {
 public:
  /// Shows the bar on the first rank only.
  Progress(const CommonOptions& common, const Machine& machine);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Writes a line to standard error, terminal or not. Only on the first rank, and not if quiet.
  void print_line(const std::string& line);
  /// A line for each, with "warning: " in front.
  void print_warnings(std::span<const std::string> warnings);
  /// A sink for the library; must not outlive this.
  [[nodiscard]] ProgressSink sink();

 private:
  void show(double fraction, std::string_view activity);
  /// ", 17 s left"; empty as long as nobody can say.
  [[nodiscard]] std::string time_left(double fraction) const;

  const bool speaks_;
  const bool visible_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

/// Reads what was measured before and writes it with what is measured now.
class TuningFile {
 public:
  /// @throws Error as Tuning::read(); kUsage if there is no default file
  explicit TuningFile(const TuneOptions& options);
  /// Null unless kernels are to be measured.
  [[nodiscard]] std::shared_ptr<runtime::Tuning> tuning() const { return tuning_; }
  /// Shows which layer is measured. `progress` must outlive the plans made from then on.
  void show(Progress& progress) const;
  /// On the first rank. @throws Error as Tuning::write()
  void save(const Machine& machine) const;

 private:
  std::filesystem::path file_;
  std::shared_ptr<runtime::Tuning> tuning_;
};

// One file per verb.
void add_inspect(CLI::App& app, Action& action);
void add_systems(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_estimate(CLI::App& app, Action& action);
void add_explore(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_sensitivity(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_crossbar(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_chat(CLI::App& app, Action& action);
void add_embed(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/quantize_language.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "halftone/api/type_recipe.h"
#include "halftone/base/error.h"
#include "halftone/cli/language_options.h"
#include "halftone/cli/print_report.h"
#include "halftone/report/language.h"

namespace halftone::cli {
namespace {

lm::TypeRecipe recipe_of(const LanguageQuantizeArguments& options, const RecipeOptions& recipe) {
  lm::TypeRecipe given = options.job.recipe;
  for (const std::string& rule : options.rules) {
    const auto at = rule.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == rule.size()) {
      fail(ErrorKind::kUsage, "--tensor: expected PATTERN=TYPE, found '" + rule + "'");
    }
    given.rules.push_back({rule.substr(0, at), rule.substr(at + 1), "--tensor"});
  }
  return with_types(load_type_recipe(recipe.recipe, recipe), given);
}

void add_fit_options(CLI::App& verb, LanguageQuantizeJob& job) {
  add_sample_options(verb, job.samples, job.damping);
  verb.add_option("--candidates", job.groups.candidates, "Scales to try for each group of weights")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  verb.add_option("--sweeps", job.groups.sweeps,
                  "Passes that choose scales and codes anew by the outputs")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  add_rotation_option(verb, job.rotates);
}

void add_type_options(CLI::App& verb, LanguageQuantizeArguments& options) {
  LanguageQuantizeJob& job = options.job;
  verb.add_option("--table-type", job.recipe.table_type,
                  "Type of embeddings and head (default: the same, or one of 4 bits)");
  verb.add_option("--tensor", options.rules,
                  "PATTERN=TYPE: another type for some matrices, as 'blk.*.attn_v.weight=Q5_K'; "
                  "keep leaves them as they are");
  verb.add_option("--size", job.size,
                  "Instead of types: bytes of the file, as 60MB; the types of the least predicted "
                  "loss are chosen")
      ->transform(byte_count());
  verb.add_option("--bits-per-weight", job.bits_per_weight,
                  "The same for so many bits per weight of all matrices")
      ->check(positive_number());
  verb.add_flag("--predict-loss", job.predicts_loss,
                "Predict the divergence of given types as well, which takes longer");
  verb.add_option("--write-recipe", job.recipe_output,
                  "File to write the types, or with --budget the bits, to, for --recipe")
      ->check(written_path());
  verb.add_flag(
      "--decoded", job.is_decoded,
      "Write the numbers that codes represent, as float32, for programs without codes; of a "
      "folder of Hugging Face, a folder");
}

}  // namespace

void add_language_quantize_options(CLI::App& verb, LanguageQuantizeArguments& options) {
  const CalibrationOptions calibration = add_calibration_options(
      verb, options.job.texts, options.job.is_synthetic, "fit a language model to");
  options.text = calibration.text;
  options.calibrate = calibration.synthetic;
  const std::size_t before = verb.get_options().size();
  add_type_options(verb, options);
  add_fit_options(verb, options.job);
  verb.add_option("--state", options.job.state,
                  "File that keeps what was fitted, so that an interrupted run continues")
      ->check(written_path());
  add_tokenizer_option(verb, options.tokenizer);
  const std::vector<CLI::Option*> all = verb.get_options();
  options.others.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  options.calibrate->group(kCalibrationGroup);
  options.text->group(kCalibrationGroup);
  for (CLI::Option* option : options.others) option->group(kCalibrationGroup);
}

bool is_language_job(const LanguageQuantizeArguments& options, bool has_data, bool has_budget) {
  if (*options.text || *options.calibrate) return true;
  for (const CLI::Option* option : options.others) {
    const std::string name = option->get_name();
    const bool is_shared = name == "--state" || name == "--write-recipe";
    if (*option && !(has_budget && is_shared))
      throw CLI::RequiresError(option->get_name(), kCalibrationWays);
  }
  if (has_data) return false;
  throw CLI::RequiredError(std::string("--data, or for a language model ") + kCalibrationWays);
}

void run_language_quantize(const CommonOptions& common, const LanguageQuantizeArguments& options,
                           const RecipeOptions& recipe, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(common);
  LanguageQuantizeJob job = options.job;
  job.tokenizer = options.tokenizer;
  job.recipe = recipe_of(options, recipe);
  job.seed = common.seed;
  const LanguageQuantizeReport result = [&] {
    Progress progress(common, machine);
    job.progress = progress.sink();
    LanguageQuantizeReport report = quantize_language_model(job);
    progress.print_warnings(report.warnings);
    return report;
  }();
  print_report(common, result);
}

}  // namespace halftone::cli

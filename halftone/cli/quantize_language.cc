// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/quantize_language.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "halftone/api/option_fields.h"
#include "halftone/api/type_recipe.h"
#include "halftone/base/error.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/language_options.h"
#include "halftone/cli/print_report.h"
#include "halftone/report/language.h"

namespace halftone::cli {
namespace {

v0::TypeRecipe recipe_of(const LanguageQuantizeArguments& options, const RecipeOptions& recipe) {
  v0::TypeRecipe given = options.job.types;
  for (const std::string& rule : options.rules) {
    const auto at = rule.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == rule.size()) {
      fail(ErrorKind::kUsage, "--tensor: expected PATTERN=TYPE, found '" + rule + "'");
    }
    given.rules.push_back({rule.substr(0, at), rule.substr(at + 1), "--tensor"});
  }
  return with_types(load_type_recipe(recipe.recipe, recipe.settings), given);
}

}  // namespace

void add_language_quantize_options(CLI::App& verb, LanguageQuantizeArguments& options) {
  const CalibrationOptions calibration = add_calibration_options(
      verb, options.job.texts, options.job.synthetic, "fit a language model to");
  options.text = calibration.text;
  options.calibrate = calibration.synthetic;
  const std::size_t before = verb.get_options().size();
  add_fit_fields(verb, fields_of(static_cast<v0::LanguageQuantizeOptions&>(options.job)),
                 {"type", "max_loss", "choices"});
  verb.get_option("--size")->transform(byte_count());
  verb.add_option("--tensor", options.rules,
                  "PATTERN=TYPE: another type for some matrices, as 'blk.*.attn_v.weight=Q5_K'; "
                  "keep leaves them as they are");
  options.others = options_from(verb, before);
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
  job.types = recipe_of(options, recipe);
  job.seed = common.seed;
  const LanguageQuantizeReport result = [&] {
    Progress progress(common, machine);
    job.sink = progress.sink();
    LanguageQuantizeReport report = quantize_language_model(job);
    progress.print_warnings(report.warnings);
    return report;
  }();
  print_report(common, result);
}

}  // namespace halftone::cli

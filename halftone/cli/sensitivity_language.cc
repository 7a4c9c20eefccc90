// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/sensitivity_language.h"

#include <CLI/CLI.hpp>

#include "halftone/api/language_model.h"
#include "halftone/api/option_fields.h"
#include "halftone/cli/language_options.h"
#include "halftone/cli/print_report.h"

namespace halftone::cli {

void add_language_sensitivity_options(CLI::App& verb, LanguageSensitivityArguments& options) {
  LanguageSensitivityJob& job = options.job;
  const CalibrationOptions calibration =
      add_calibration_options(verb, job.texts, job.synthetic, "measure a language model on");
  options.text = calibration.text;
  options.calibrate = calibration.synthetic;
  const std::size_t before = verb.get_options().size();
  add_fit_fields(verb, fields_of(static_cast<v0::LanguageFitOptions&>(job)), {"state"});
  const std::vector<CLI::Option*> all = verb.get_options();
  options.others.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  options.calibrate->group(kCalibrationGroup);
  options.text->group(kCalibrationGroup);
  for (CLI::Option* option : options.others) option->group(kCalibrationGroup);
}

bool is_language_sensitivity(const LanguageSensitivityArguments& options, const std::string& model,
                             const CLI::Option& data, const std::vector<CLI::Option*>& networks) {
  if (*options.text || *options.calibrate) {
    for (const CLI::Option* option : networks) {
      if (*option) {
        throw CLI::ValidationError(option->get_name(),
                                   "only of networks that are no language models");
      }
    }
    return true;
  }
  for (const CLI::Option* option : options.others) {
    if (*option) throw CLI::RequiresError(option->get_name(), kCalibrationWays);
  }
  if (is_language_model(model)) {
    throw CLI::RequiredError(std::string(kCalibrationWays) + ", of a language model,");
  }
  if (!data) {
    throw CLI::RequiredError(std::string("--data, or for a language model ") + kCalibrationWays);
  }
  return false;
}

void run_language_sensitivity(const CommonOptions& common,
                              const LanguageSensitivityArguments& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(common);
  LanguageSensitivityJob job = options.job;
  job.seed = common.seed;
  const LanguageSensitivity found = [&] {
    Progress progress(common, machine);
    job.sink = progress.sink();
    LanguageSensitivity result = language_sensitivity(job);
    progress.print_warnings(result.warnings);
    return result;
  }();
  std::cout << (common.json ? report::to_json(found) : printable(report::to_text(found)));
}

}  // namespace halftone::cli

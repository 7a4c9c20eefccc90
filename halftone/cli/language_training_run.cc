// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/language_training_run.h"

#include <optional>

#include "halftone/base/error.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/print_report.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

/// Prints a line for each evaluation and each step in fifty.
class TuneLines {
 public:
  TuneLines(Progress& progress, std::size_t steps)
      : progress_(progress), steps_(steps), interval_(steps < 50 ? 1 : steps / 50) {}

  void record(const train::TuneHistory& history) {
    const std::size_t done = history.steps.size();
    const bool is_evaluated = history.evaluations.size() > num_evaluations_;
    num_evaluations_ = history.evaluations.size();
    if (!is_evaluated && done % interval_ != 0) return;
    progress_.print_line(report::to_line(history, steps_, is_evaluated));
  }

 private:
  Progress& progress_;
  std::size_t steps_;
  std::size_t interval_;
  std::size_t num_evaluations_ = 0;
};

LanguageDistillJob job_of(const DistillArguments& options) {
  if (options.teachers.size() != 1) {
    fail(ErrorKind::kUsage, "--teacher: expected one language model, found " +
                                std::to_string(options.teachers.size()));
  }
  LanguageDistillJob job = options.language;
  job.teacher = options.teachers[0];
  job.student = options.student;
  job.output = options.training.output;
  job.seed = options.training.common.seed;
  job.stop_requested = Interruption::is_wanted;
  return job;
}

}  // namespace

void run_language_distill(const DistillArguments& options, const Machine& machine) {
  if (!machine.is_first()) return;
  const CommonOptions& common = options.training.common;
  apply(common);
  LanguageDistillJob job = job_of(options);
  std::optional<Interruption> interruption;
  job.on_start = [&] { interruption.emplace(); };
  const TuneReport report = [&] {
    Progress progress(common, machine);
    TuneLines lines(progress, job.steps);
    job.sink = progress.sink();
    job.record = [&](const train::TuneHistory& history) { lines.record(history); };
    TuneReport result = distill_language_model(job);
    progress.print_warnings(result.warnings);
    return result;
  }();
  interruption.reset();
  if (report.is_interrupted) {
    const std::string state = options.language.state.string();
    fail(ErrorKind::kInterrupted,
         state.empty() ? "interrupted; nothing was kept, as --state would have"
                       : "interrupted; saved in " + state + ", the same command goes on");
  }
  print_report(common, report);
}

}  // namespace halftone::cli

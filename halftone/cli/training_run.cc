// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/training_run.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "halftone/api/training_names.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/language_training_run.h"
#include "halftone/cli/print_report.h"
#include "halftone/report/curve.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

/// A training with progress lines, the course of the run beside its checkpoint, and interruption.
class Course {
 public:
  Course(const TrainingOptions& options, const Machine& machine, bool has_teacher)
      : options_(options), machine_(machine), has_teacher_(has_teacher) {
    apply(options.common);
    progress_.emplace(options.common, machine);
  }

  /// The job without what only one verb has. Refers to this.
  TrainingJob job() {
    TrainingSettings settings{train_options(), {}, [this] { interruption_.emplace(); }};
    settings.student.normalises = options_.normalises;
    set_named(options_.names, settings);
    return {std::move(settings), options_.output, options_.data.source, options_.model.parse()};
  }

  /// Prints the report.
  /// @throws Error kInterrupted if a signal ended the training
  void finish(const TrainReport& report) {
    interruption_.reset();
    progress_.reset();
    if (report.interrupted) {
      const std::string& path = options_.train.checkpoint.path;
      fail(ErrorKind::kInterrupted,
           path.empty() ? "interrupted; nothing was kept, as --checkpoint would have"
                        : "interrupted; saved in " + path + ", go on with --resume");
    }
    if (machine_.is_first()) print_report(options_.common, report);
  }

 private:
  train::TrainOptions train_options() {
    train::TrainOptions result = options_.train;
    result.batch = options_.data.batch;
    result.seed = options_.common.seed;
    result.progress = progress_->sink();
    result.devices = machine_.devices(options_.data.devices);
    result.stop_requested = Interruption::is_wanted;
    result.record = [this](const auto& epochs) { record(epochs); };
    return result;
  }

  /// Prints a line for each new epoch, and writes the course of the run beside its checkpoint.
  void record(const std::vector<train::EpochResult>& epochs) {
    for (; num_shown_ < epochs.size(); ++num_shown_) {
      progress_->print_line(report::to_line(num_shown_, epochs[num_shown_], has_teacher_));
    }
    if (options_.train.checkpoint.path.empty()) return;
    std::filesystem::path path = options_.train.checkpoint.path;
    NewFiles files;
    files.add(path.replace_extension(".csv"), report::to_csv(epochs));
    files.add(path.replace_extension(".svg"), report::to_svg(epochs));
    files.finish();
  }

  const TrainingOptions& options_;
  const Machine& machine_;
  const bool has_teacher_;
  std::optional<Progress> progress_;
  std::optional<Interruption> interruption_;
  std::size_t num_shown_ = 0;  ///< epochs whose line was printed
};

}  // namespace

void run_train(const TrainArguments& options, const Machine& machine) {
  Course course(options.training, machine, false);
  course.finish(train_file({options.model, options.keep, course.job()}));
}

void run_distill(const DistillArguments& options, const Machine& machine) {
  if (!options.language.job.texts.empty()) return run_language_distill(options, machine);
  Course course(options.training, machine, true);
  DistillJob job;
  job.training = course.job();
  job.teachers.assign(options.teachers.begin(), options.teachers.end());
  job.student = options.student;
  job.fresh = options.fresh;
  if (options.student.empty() || options.recipe.is_given())
    job.recipe = make_recipe(options.recipe);
  job.calibration_samples = options.calibration;
  job.memory_bytes = options.memory_bytes;
  if (!options.crossbar.empty()) {
    job.crossbar = crossbar::load_device(options.crossbar);
    if (options.seconds) job.crossbar->seconds = *options.seconds;
  }
  job.stages = train::parse_stages(options.stages);
  for (const std::string& text : options.features) {
    job.training.options.features.push_back(train::parse_feature_match(text));
  }
  course.finish(distill_files(job));
}

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/training_run.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "halftone/api/training_options.h"
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

  /// The options of the run, with those of other groups.
  [[nodiscard]] v0::TrainOptions options() const {
    v0::TrainOptions result = options_.train;
    result.batch = options_.data.batch;
    result.seed = options_.common.seed;
    return result;
  }
  /// The job without what only one verb has. Refers to this.
  TrainingJob job(TrainingSettings settings) {
    settings.on_start = [this] { interruption_.emplace(); };
    settings.options.progress = progress_->sink();
    settings.options.devices = machine_.devices(options_.data.devices);
    settings.options.stop_requested = Interruption::is_wanted;
    settings.options.record = [this](const auto& epochs) { record(epochs); };
    return {std::move(settings), options_.output, options_.data.source, options_.model.parse()};
  }

  /// Prints the report.
  /// @throws Error kInterrupted if a signal ended the training
  void finish(const TrainReport& report) {
    interruption_.reset();
    progress_.reset();
    if (report.interrupted) {
      const std::string path = options_.train.checkpoint.string();
      fail(ErrorKind::kInterrupted,
           path.empty() ? "interrupted; nothing was kept, as --checkpoint would have"
                        : "interrupted; saved in " + path + ", go on with --resume");
    }
    if (machine_.is_first()) print_report(options_.common, report);
  }

 private:
  /// Prints a line for each new epoch, and writes the course of the run beside its checkpoint.
  void record(const std::vector<train::EpochResult>& epochs) {
    for (; num_shown_ < epochs.size(); ++num_shown_) {
      progress_->print_line(report::to_line(num_shown_, epochs[num_shown_], has_teacher_));
    }
    if (options_.train.checkpoint.empty()) return;
    std::filesystem::path path = options_.train.checkpoint;
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
  course.finish(
      train_file({options.model, options.keep, course.job(training_settings(course.options()))}));
}

void run_distill(const DistillArguments& options, const Machine& machine) {
  if (!options.language.texts.empty()) return run_language_distill(options, machine);
  Course course(options.training, machine, true);
  v0::TeachingOptions teaching = options.teaching;
  teaching.stages = train::parse_stages(options.stages);
  for (const std::string& text : options.features) {
    teaching.features.push_back(train::parse_feature_match(text));
  }
  DistillJob job{distill_settings(teaching)};
  job.training = course.job(training_settings(course.options(), teaching));
  job.teachers.assign(options.teachers.begin(), options.teachers.end());
  job.student = options.student;
  if (options.student.empty() || options.recipe.is_given())
    job.recipe = make_recipe(options.recipe);
  course.finish(distill_files(job));
}

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/training_run.h"

#include <filesystem>
#include <iostream>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/printable.h"
#include "halftone/cli/interruption.h"
#include "halftone/formats/model.h"
#include "halftone/report/curve.h"
#include "halftone/report/report.h"
#include "halftone/train/samples/validation_split.h"

namespace halftone::cli {
namespace {

std::vector<report::TrainSummary::Epoch> to_report(const std::vector<train::EpochResult>& epochs) {
  std::vector<report::TrainSummary::Epoch> result;
  for (const train::EpochResult& each : epochs) {
    result.push_back({each.loss, each.agreement, each.held_out, each.rate, each.seconds});
  }
  return result;
}

train::ScheduleKind schedule_from(const std::string& name) {
  if (name == "step") return train::ScheduleKind::kStep;
  return name == "constant" ? train::ScheduleKind::kConstant : train::ScheduleKind::kCosine;
}

}  // namespace

TrainingRun::TrainingRun(const TrainingOptions& options, const Machine& machine)
    : options_(options), machine_(machine) {
  apply(options.common);
  progress_.emplace(options.common, machine);
}

void TrainingRun::check_batch(const data::Dataset& data) const {
  const std::size_t batch = options_.data.batch;
  const train::Split split =
      train::split_samples(data.size(), options_.train.hold_out, options_.common.seed);
  if (split.training.size() >= batch) return;
  fail(ErrorKind::kUsage, "--batch: " + data.name() + ": expected at least the " +
                              std::to_string(batch) + " samples of a batch, found " +
                              std::to_string(split.training.size()) +
                              ": choose a smaller batch or use more samples");
}

spmd::Devices TrainingRun::devices() const { return machine_.devices(options_.data.devices); }

train::TrainOptions TrainingRun::make_train_options() {
  train::TrainOptions result = options_.train;
  result.batch = options_.data.batch;
  result.seed = options_.common.seed;
  result.progress = progress();
  result.devices = devices();
  result.optimizer.kind =
      options_.optimizer == "sgd" ? train::OptimizerKind::kSgd : train::OptimizerKind::kAdam;
  result.optimizer.schedule.kind = schedule_from(options_.schedule);
  result.stop_requested = Interruption::is_wanted;
  result.record = [this](const auto& epochs) { record(epochs); };
  return result;
}

void TrainingRun::finish(const std::function<train::TrainResult(const train::TrainOptions&)>& train,
                         const std::string& input) {
  const train::TrainResult result = [&] {
    const Interruption interruption;
    return train(make_train_options());
  }();
  progress_.reset();
  if (result.interrupted) {
    const std::string& path = options_.train.checkpoint.path;
    fail(ErrorKind::kInterrupted, path.empty()
                                      ? "interrupted; nothing was kept, as --checkpoint would have"
                                      : "interrupted; saved in " + path + ", go on with --resume");
  }
  if (!machine_.is_first()) return;
  formats::save_model(result.graph, options_.output);
  report(result, input);
}

void TrainingRun::record(const std::vector<train::EpochResult>& epochs) {
  const std::vector<report::TrainSummary::Epoch> reported = to_report(epochs);
  for (; num_shown_ < reported.size(); ++num_shown_) {
    progress_->print_line(report::to_line(num_shown_, reported[num_shown_]));
  }
  if (options_.train.checkpoint.path.empty()) return;
  std::filesystem::path path = options_.train.checkpoint.path;
  write_file(path.replace_extension(".csv"), report::to_csv(reported));
  write_file(path.replace_extension(".svg"), report::to_svg(reported));
}

void TrainingRun::report(const train::TrainResult& result, const std::string& input) const {
  report::TrainSummary summary;
  summary.input_bytes = std::filesystem::file_size(input);
  summary.output_bytes = std::filesystem::file_size(options_.output);
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  summary.seconds = std::chrono::duration<double>(elapsed).count();
  summary.epochs = to_report(result.epochs);
  summary.best = result.best;
  std::cout << (options_.common.json ? report::to_json(summary)
                                     : printable(report::to_text(summary)));
}

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
// The common part of the verbs that train, once they have a network.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/cli/training_options.h"

namespace halftone::cli {

/// A training with progress lines, checkpoints and interruption, which writes a file at the end.
class TrainingRun {
 public:
  /// Starts the clock.
  TrainingRun(const TrainingOptions& options, const Machine& machine);

  /// Progress of the run, including the work before the training.
  [[nodiscard]] ProgressSink progress() { return progress_->sink(); }
  [[nodiscard]] spmd::Devices devices() const;

  /// @throws Error kUsage that names --batch if there are fewer training samples than a batch has
  void check_batch(const data::Dataset& data) const;
  /// Trains, writes the file and reports.
  /// @param train  runs the training with the options it receives
  /// @param input  the file whose size the report compares with
  /// @throws Error kInterrupted if a signal stopped it; a requested checkpoint is written first
  void finish(const std::function<train::TrainResult(const train::TrainOptions&)>& train,
              const std::string& input);

 private:
  [[nodiscard]] train::TrainOptions make_train_options();
  /// Prints a line for each new epoch, and writes the course of the run beside its checkpoint.
  void record(const std::vector<train::EpochResult>& epochs);
  void report(const train::TrainResult& result, const std::string& input) const;

  const TrainingOptions& options_;
  const Machine& machine_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<Progress> progress_;
  std::size_t num_shown_ = 0;  ///< epochs whose line was printed
};

}  // namespace halftone::cli

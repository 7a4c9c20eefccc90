// SPDX-License-Identifier: Apache-2.0
// What the verbs that train do once they have a network.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/cli/training_options.h"

namespace halftone::cli {

/// A training that is watched, kept, can be interrupted, and ends in a file.
class TrainingRun {
 public:
  /// From now on it takes its time.
  TrainingRun(const TrainingOptions& options, const Machine& machine);

  /// Of what is done before the training, too.
  [[nodiscard]] ProgressSink progress() { return progress_->sink(); }
  [[nodiscard]] spmd::Devices devices() const;

  /// @throws Error kUsage that names --batch if fewer samples are trained on than a batch has
  void check_batch(const data::Dataset& data) const;
  /// Trains, writes the file and reports.
  /// @param train  the training, with the options as they are to be
  /// @param input  the file that the report compares sizes with
  /// @throws Error kInterrupted if a signal stopped it: what was asked to be kept is
  void finish(const std::function<train::TrainResult(const train::TrainOptions&)>& train,
              const std::string& input);

 private:
  [[nodiscard]] train::TrainOptions make_train_options();
  /// Prints a line for each new epoch, and keeps the course of the run beside its checkpoint.
  void record(const std::vector<train::EpochResult>& epochs);
  void report(const train::TrainResult& result, const std::string& input) const;

  const TrainingOptions& options_;
  const Machine& machine_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<Progress> progress_;
  std::size_t num_shown_ = 0;  ///< epochs whose line was printed
};

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
// Options shared by the verbs that train.
#pragma once

#include <string>

#include "halftone/cli/command.h"
#include "halftone/train/run/trainer.h"

namespace halftone::cli {

struct TrainingOptions {
  CommonOptions common;
  DataOptions data;
  std::string output;
  std::string optimizer = "adam";
  std::string schedule = "cosine";
  std::string precision = "fp32";
  std::string gradient_format = "fp32";
  std::string gradient_rounding = "stochastic";
  bool normalises = true;
  std::string device = "cpu";
  train::TrainOptions train;  ///< fields set directly by options; TrainingRun adds the rest

  /// @throws Error as train::parse_number_format() and train::device_from()
  [[nodiscard]] train::StudentOptions student_options() const;
};

/// Declares the options, including the output file.
void add_training_options(CLI::App& verb, TrainingOptions& options);

}  // namespace halftone::cli

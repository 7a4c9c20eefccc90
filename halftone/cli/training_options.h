// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that train. They need no libtorch, so that every build shows their help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/language_distillation.h"
#include "halftone/api/training_names.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

/// Options that the verbs share.
struct TrainingOptions {
  CommonOptions common;
  DataArguments data;
  ModelOptions model;
  std::string output;
  TrainingNames names;
  bool normalises = true;
  train::TrainOptions train;  ///< fields set directly by options
};

struct TrainArguments {
  TrainingOptions training;
  std::string model;
  bool keep = false;
};

/// Of `distill` with a language model.
struct LanguageDistillArguments {
  LanguageDistillJob job;
  std::string state;               ///< file from which the run resumes; empty: none
  bool has_learning_rate = false;  ///< --learning-rate is given
  bool has_batch = false;          ///< --batch is given
};

struct DistillArguments {
  TrainingOptions training;
  LanguageDistillArguments language;
  RecipeOptions recipe;
  std::vector<std::string> teachers;
  std::string student;  ///< none: the first teacher
  bool fresh = false;
  std::size_t calibration = 2000;
  std::optional<std::uint64_t> memory_bytes;  ///< for values of the samples
  std::string crossbar;                       ///< none: weights as their codes
  std::optional<double> seconds;              ///< as the description of the crossbar says
  std::vector<std::string> stages;
  std::vector<std::string> features;
};

/// Declares the common options, including the output file.
void add_training_options(CLI::App& verb, TrainingOptions& options);

/// Adds --text and the options that need it.
/// @return  --text
CLI::Option* add_language_distill_options(CLI::App& verb, LanguageDistillArguments& options);
/// @throws Error kUsage for an option of `verb` that is given and not for language models
void check_language_distill_options(const CLI::App& verb);

/// Declares `train`. @param run  does the work
void add_train(CLI::App& app, Action& action,
               std::function<void(const TrainArguments&, const Machine&)> run);
/// Declares `distill`. @param run  does the work
void add_distill(CLI::App& app, Action& action,
                 std::function<void(const DistillArguments&, const Machine&)> run);

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that train. They need no libtorch, so that every build shows their help.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/api/language_distillation.h"
#include "halftone/cli/command.h"
#include "halftone/types/train.hpp"

namespace halftone::cli {

/// Options that the verbs share.
struct TrainingOptions {
  CommonOptions common;
  DataArguments data;
  ModelOptions model;
  std::string output;
  v0::TrainOptions train;
};

struct TrainArguments {
  TrainingOptions training;
  std::string model;
  bool keep = false;
};

struct DistillArguments {
  TrainingOptions training;
  LanguageDistillJob language;
  RecipeOptions recipe;
  std::vector<std::string> teachers;
  std::string student;  ///< none: the first teacher
  v0::TeachingOptions teaching;
  std::vector<std::string> stages;    ///< BITS:EPOCHS
  std::vector<std::string> features;  ///< TEACHER_VALUE=STUDENT_VALUE[:WEIGHT]
};

/// Declares the common options, including the output file.
void add_training_options(CLI::App& verb, TrainingOptions& options);

/// Adds --text and the options that need it.
/// @return  --text
CLI::Option* add_language_distill_options(CLI::App& verb, LanguageDistillJob& job);
/// @throws Error kUsage for an option of `verb` that is given and not for language models
void check_language_distill_options(const CLI::App& verb);

/// Declares `train`. @param run  does the work
void add_train(CLI::App& app, Action& action,
               std::function<void(const TrainArguments&, const Machine&)> run);
/// Declares `distill`. @param run  does the work
void add_distill(CLI::App& app, Action& action,
                 std::function<void(const DistillArguments&, const Machine&)> run);

}  // namespace halftone::cli

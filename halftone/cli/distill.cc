// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "halftone/cli/training.h"
#include "halftone/cli/training_run.h"
#include "halftone/compress/quantize.h"
#include "halftone/formats/model.h"
#include "halftone/train/learn/initial_values.h"
#include "halftone/train/run/stages.h"

namespace halftone::cli {
namespace {

struct DistillOptions {
  TrainingOptions training;
  RecipeOptions recipe;
  std::vector<std::string> teachers;
  std::string student;  ///< none: the first teacher
  bool fresh = false;
  std::size_t calibration = 2000;
  std::string levels = "gradient";
  std::vector<std::string> stages;
  std::vector<std::string> features;

  /// Whether the student is quantized by a recipe, not trained as it is.
  [[nodiscard]] bool has_recipe() const { return student.empty() || recipe.is_given(); }
};

/// The float network that the student is, or is quantized from.
ir::Graph load_student(const DistillOptions& options, const ir::Graph& teacher) {
  if (options.student.empty()) return teacher;
  ir::Graph student = load_network(options.student, {.dequantize = true});
  if (!options.fresh) return student;
  return train::with_initial_values(student, options.training.common.seed);
}

train::StudentOptions student_options(const DistillOptions& options) {
  train::StudentOptions result = options.training.student_options();
  result.weights.rule = result.activations.rule =
      options.levels == "gradient" ? train::LevelRule::kGradient : train::LevelRule::kMovingAverage;
  result.scheme = make_recipe(options.recipe).defaults.scheme.value_or(compress::Scheme::kBasis);
  return result;
}

/// Quantizes networks, fitted to the first samples; or takes the student as it is.
train::MakeStudent student_maker(const DistillOptions& options, const ir::Graph& student,
                                 TrainingRun& run) {
  if (!options.has_recipe()) return [&student](const auto&, const auto&) { return student; };
  return [&](const ir::Graph& network, const compress::Recipe& recipe) {
    DataOptions few = options.training.data;
    few.limit = std::min(options.calibration, few.limit.value_or(options.calibration));
    const data::Dataset data = open_data(few);
    return compress::quantize(network, data, recipe,
                              {options.training.common.seed, run.progress(), run.devices()})
        .graph;
  };
}

void run(const DistillOptions& options, const Machine& machine) {
  TrainingRun run(options.training, machine);
  const train::StudentOptions how_student = student_options(options);
  const std::vector<train::Stage> stages = train::parse_stages(options.stages);
  if (!stages.empty() && !options.has_recipe()) {
    fail(ErrorKind::kUsage, "--stages: expected options of a recipe too, such as --weight-bits 2");
  }
  std::vector<ir::Graph> teachers;
  for (const std::string& path : options.teachers) {
    teachers.push_back(load_network(path, {.dequantize = true}));
  }
  const ir::Graph student = load_student(options, teachers.front());
  formats::check_model(student, options.training.output);
  const data::Dataset data = open_data(options.training.data);
  run.check_batch(data);
  const auto distill = [&](train::TrainOptions how) {
    for (const std::string& text : options.features) {
      how.features.push_back(train::parse_feature_match(text));
    }
    train::check_training(how, data, teachers.size());
    // Holds the float weights that the codes represent.
    const ir::Graph& original = options.has_recipe() ? student : teachers.front();
    return train::train_in_stages(original, stages, make_recipe(options.recipe),
                                  student_maker(options, student, run), teachers, data, how_student,
                                  how);
  };
  run.finish(distill, options.student.empty() ? options.teachers.front() : options.student);
}

void add_teaching_options(CLI::App& verb, DistillOptions& options) {
  train::TrainOptions& train = options.training.train;
  verb.add_option("--temperature", train.loss.temperature, "Softens the teacher's answers")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--label-weight", train.loss.label_weight,
                  "Share of the labels in the loss; 0: none are needed")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_option(
          "--teacher-cache", train.teacher_cache,
          "File of the teachers' answers, made where it is missing; not with --flip, --crop")
      ->check(some_path());
  verb.add_option(
          "--feature", options.features,
          "TEACHER_VALUE=STUDENT_VALUE[:WEIGHT] to be alike, of the first teacher; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--levels", options.levels,
                  "How bases learn: gradient, or average of closed forms")
      ->check(CLI::IsMember({"gradient", "average"}))
      ->capture_default_str();
  verb.add_option("--level-rate-factor", options.training.train.optimizer.level_rate,
                  "Learning rate of levels is --learning-rate times this (--levels gradient)")
      ->check(positive_number())
      ->capture_default_str();
}

}  // namespace

void add_distill(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DistillOptions>();
  CLI::App* verb = add_verb(app, "distill", "Train a network in few bits on a teacher's answers",
                            "halftone distill --teacher model.onnx -o model.circle "
                            "--data examples/mnist --weight-bits 1 --activation-bits 1 --epochs 20",
                            options->training.common);
  verb->add_option(
          "--teacher", options->teachers,
          "Float network: ONNX, TFLite or circle file; several: their answers are averaged")
      ->required()
      ->allow_extra_args(false)
      ->check(some_path());
  CLI::Option* student =
      verb->add_option(
              "--student", options->student,
              "Network to train, float or in few bits; without, the first teacher in few bits")
          ->check(some_path());
  verb->add_option("--stages", options->stages,
                   "BITS:EPOCHS,... in more bits, before those of the recipe: 4:5,3:5")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_flag("--fresh", options->fresh, "Give the student, a float network, initial values")
      ->needs(student);
  add_recipe_options(*verb, options->recipe);
  verb->add_option("--calibration", options->calibration,
                   "Samples, from the front, that the student is fitted to before it learns")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  add_teaching_options(*verb, *options);
  add_training_options(*verb, options->training);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/cli/training.h"
#include "halftone/compress/quantize.h"
#include "halftone/formats/model.h"
#include "halftone/report/report.h"
#include "halftone/train/trainer.h"

namespace halftone::cli {
namespace {

struct Options {
  CommonOptions common;
  DataOptions data;
  RecipeOptions recipe;
  std::vector<std::string> teachers;
  std::string student;  ///< none: the recipe applied to the first teacher
  std::string output;
  std::size_t calibration = 2000;
  std::string optimizer = "adam";
  std::string levels = "gradient";
  bool normalises = true;
  std::vector<std::string> features;
  std::string precision = "fp32";
  std::string gradient_format = "fp32";
  std::string gradient_rounding = "stochastic";
  train::TrainOptions train;
};

/// The network to be trained, and the float network that it was.
struct Pupil {
  ir::Graph graph;
  ir::Graph original;
};

/// What there is, in the few bits that options ask for: of the teacher if there is no student.
Pupil make_pupil(const Options& options, const ir::Graph& teacher, const Machine& machine,
                 const ProgressSink& progress) {
  const bool has_student = !options.student.empty();
  ir::Graph original = has_student ? load_network(options.student, {.dequantize = true}) : teacher;
  if (has_student && !options.recipe.is_given()) return {original, std::move(original)};
  DataOptions few = options.data;
  few.limit = std::min(options.calibration, few.limit.value_or(options.calibration));
  const formats::Dataset data = open_data(few);
  ir::Graph graph =
      compress::quantize(original, data, make_recipe(options.recipe),
                         {options.common.seed, progress, machine.devices(options.data.devices)})
          .graph;
  return {std::move(graph), std::move(original)};
}

train::StudentOptions student_options(const Options& options) {
  train::StudentOptions result;
  result.weights.rule = result.activations.rule =
      options.levels == "gradient" ? train::LevelRule::kGradient : train::LevelRule::kMovingAverage;
  result.scheme = make_recipe(options.recipe).defaults.scheme.value_or(compress::Scheme::kBasis);
  result.normalises = options.normalises;
  result.precision.weights = result.precision.activations =
      train::parse_number_format(options.precision);
  result.precision.gradients = train::parse_number_format(options.gradient_format);
  result.precision.gradient_rounding = options.gradient_rounding == "nearest"
                                           ? train::Rounding::kNearest
                                           : train::Rounding::kStochastic;
  return result;
}

/// The options of the training, with what other options say of batch, seed, optimizer and devices.
train::TrainOptions train_options(const Options& options, const Machine& machine,
                                  ProgressSink progress) {
  train::TrainOptions result = options.train;
  result.batch = options.data.batch;
  result.seed = options.common.seed;
  result.progress = std::move(progress);
  result.devices = machine.devices(options.data.devices);
  for (const std::string& text : options.features) {
    result.features.push_back(train::parse_feature_match(text));
  }
  result.optimizer.kind =
      options.optimizer == "sgd" ? train::OptimizerKind::kSgd : train::OptimizerKind::kAdam;
  return result;
}

void run(const Options& options, const Machine& machine) {
  const auto start = std::chrono::steady_clock::now();
  apply(options.common);
  const train::StudentOptions how = student_options(options);
  std::vector<ir::Graph> teachers;
  for (const std::string& path : options.teachers) {
    teachers.push_back(load_network(path, {.dequantize = true}));
  }
  const ir::Graph& first = teachers.front();
  formats::check_model(first, options.output);
  const formats::Dataset data = open_data(options.data);
  const train::TrainResult result = [&] {
    Progress progress(options.common, machine);
    const train::TrainOptions training = train_options(options, machine, progress.sink());
    train::check_training(training, data, teachers.size());
    const Pupil pupil = make_pupil(options, first, machine, progress.sink());
    return train::train(pupil.graph, &pupil.original, teachers, data, how, training);
  }();
  if (!machine.is_first()) return;
  formats::save_model(result.graph, options.output);
  report::TrainSummary summary;
  summary.input_bytes = std::filesystem::file_size(options.teachers.front());
  summary.output_bytes = std::filesystem::file_size(options.output);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  summary.seconds = std::chrono::duration<double>(elapsed).count();
  for (const train::EpochResult& epoch : result.epochs) {
    summary.epochs.push_back({epoch.loss, epoch.agreement});
  }
  std::cout << (options.common.json ? report::to_json(summary) : report::to_text(summary));
}

void add_precision_options(CLI::App& verb, Options& options) {
  verb.add_option("--precision", options.precision,
                  "Format of float weights and activations as layers multiply them: fp32, fp16, "
                  "bf16, e4m3, e5m2, e3m2, e2m3, e2m1, int2 to int16")
      ->capture_default_str();
  verb.add_option("--gradient-format", options.gradient_format,
                  "Format of the gradients by what layers give; as --precision")
      ->capture_default_str();
  verb.add_option("--gradient-rounding", options.gradient_rounding,
                  "stochastic (right on average) or nearest")
      ->check(CLI::IsMember({"stochastic", "nearest"}))
      ->capture_default_str();
  verb.add_option("--loss-scale", options.train.loss_scale,
                  "Power of two that lifts gradients into the range of their format")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_training_options(CLI::App& verb, Options& options) {
  train::TrainOptions& train = options.train;
  verb.add_option("--epochs", train.epochs, "How often all samples are seen")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  verb.add_option("--optimizer", options.optimizer, "adam (decoupled decay) or sgd (momentum 0.9)")
      ->check(CLI::IsMember({"adam", "sgd"}))
      ->capture_default_str();
  verb.add_option("--rate", train.optimizer.rate, "Learning rate; falls to 0 along a cosine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--weight-decay", train.optimizer.weight_decay, "Of the optimizer")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--most-gradient", train.optimizer.most_gradient,
                  "Cut the gradient's norm to this; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--temperature", train.loss.temperature, "Softens the teacher's answers")
      ->check(CLI::PositiveNumber)
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
  verb.add_flag("--no-batch-norm{false}", options.normalises,
                "Do not normalise the outputs of layers while learning");
  verb.add_flag("--flip", train.augment.flip, "Mirror every second image");
  verb.add_option("--crop", train.augment.padding, "Move images by up to so many pixels")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  verb.add_option("--parts", train.parts,
                  "Parts of a batch that devices share; the result depends on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace

void add_distill(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, "distill", "Train a network in few bits on a teacher's answers",
                            "halftone distill --teacher model.onnx -o model.circle "
                            "--data examples/mnist --weight-bits 1 --activation-bits 1 --epochs 20",
                            options->common);
  verb->add_option(
          "--teacher", options->teachers,
          "Float network: ONNX, TFLite or circle file; several: their answers are averaged")
      ->required()
      ->allow_extra_args(false)
      ->check(some_path());
  verb->add_option("--student", options->student,
                   "Network to train, float or in few bits; without, the first teacher in few bits")
      ->check(some_path());
  verb->add_option("-o,--output", options->output, "File to write: .circle, .tflite or .onnx")
      ->required()
      ->check(some_path());
  options->data.batch = 128;
  add_data_options(*verb, options->data, "train");
  add_recipe_options(*verb, options->recipe);
  verb->add_option("--calibration", options->calibration,
                   "Samples, from the front, that the student is fitted to before it learns")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  add_training_options(*verb, *options);
  add_precision_options(*verb, *options);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli

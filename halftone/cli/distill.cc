// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "halftone/cli/one_of.h"
#include "halftone/cli/training_options.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "halftone distill --teacher model.onnx -o model.circle --data examples/mnist --weight-bits 1 "
    "--activation-bits 1 --epochs 20\n"
    "halftone distill --teacher model.gguf --student student.safetensors -o tuned.safetensors "
    "--text text.txt --minutes 60 --state tune.state";

/// Adds the teachers, the student and how it starts.
/// @return  --student
CLI::Option* add_network_options(CLI::App& verb, DistillArguments& options) {
  verb.add_option(
          "--teacher", options.teachers,
          "Float network: ONNX, TFLite or circle file; several: their answers are averaged; with "
          "--text a GGUF file, a folder of Hugging Face or a .bin file of llama2.c")
      ->required()
      ->allow_extra_args(false)
      ->check(read_path());
  CLI::Option* student = verb.add_option("--student", options.student,
                                         "Network to train, float or in few bits; without, the "
                                         "first teacher in few bits; with "
                                         "--text a .gguf file in few bits, or a .safetensors "
                                         "file that quantize --text wrote")
                             ->check(read_path());
  verb.add_option("--stages", options.stages,
                  "BITS:EPOCHS,... in more bits, before those of the recipe: 4:5,3:5")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb.add_flag("--fresh", options.fresh, "Give the student, a float network, initial values")
      ->needs(student);
  return student;
}

void add_teaching_options(CLI::App& verb, DistillArguments& options) {
  train::TrainOptions& train = options.training.train;
  verb.add_option("--temperature", train.loss.temperature, "Softens the teacher's answers")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--loss", options.training.names.loss,
                  "kl: probabilities of classes; mse: squared error of scores; auto: mse for one "
                  "score at each position")
      ->check(OneOf({"auto", "kl", "mse"}))
      ->capture_default_str();
  verb.add_option("--label-weight", train.loss.label_weight,
                  "Share of the labels in the loss; 0: none are needed")
      ->check(number_from(0, 1))
      ->capture_default_str();
  verb.add_option(
          "--teacher-cache", train.teacher_cache,
          "File of the teachers' answers, made where it is missing; not with --flip, --crop")
      ->check(written_path());
  verb.add_option(
          "--feature", options.features,
          "TEACHER_VALUE=STUDENT_VALUE[:WEIGHT] to be alike, of the first teacher; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--levels", options.training.names.levels,
                  "How bases learn: gradient, or average of closed forms")
      ->check(OneOf({"gradient", "average"}))
      ->capture_default_str();
  verb.add_option("--level-rate-factor", options.training.train.optimizer.level_rate,
                  "Learning rate of levels is --learning-rate times this (--levels gradient)")
      ->check(positive_number())
      ->capture_default_str();
}

void add_crossbar_options(CLI::App& verb, DistillArguments& options) {
  CLI::Option* crossbar =
      verb.add_option(
              "--crossbar", options.crossbar,
              "Train with the noise of its cells: a TOML file that describes a crossbar, or "
              "ideal, pcm, reram")
          ->check(read_path("DEVICE"));
  verb.add_option("--seconds", options.seconds,
                  "Time from programming the crossbar to reading; default: as the description says")
      ->needs(crossbar)
      ->check(positive_number());
}

}  // namespace

void add_distill(CLI::App& app, Action& action,
                 std::function<void(const DistillArguments&, const Machine&)> run) {
  const auto options = std::make_shared<DistillArguments>();
  CLI::App* verb = add_verb(app, "distill", "Train a network in few bits on a teacher's answers",
                            kExamples, options->training.common);
  CLI::Option* student = add_network_options(*verb, *options);
  add_recipe_options(*verb, options->recipe);
  verb->add_option("--calibration", options->calibration,
                   "Samples, from the front, that the student is fitted to before it learns")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  add_memory_option(*verb, options->memory_bytes);
  add_teaching_options(*verb, *options);
  add_crossbar_options(*verb, *options);
  add_training_options(*verb, options->training);
  CLI::Option* data = verb->get_option("--data")->required(false);
  CLI::Option* text = add_language_distill_options(*verb, options->language)->excludes(data);
  verb->final_callback([options, &action, verb, data, text, student, run = std::move(run)] {
    if (data->empty() && text->empty()) throw CLI::RequiredError(data->get_name());
    if (!text->empty() && student->empty()) throw CLI::RequiredError(student->get_name());
    options->language.has_learning_rate = !verb->get_option("--learning-rate")->empty();
    options->language.has_batch = !verb->get_option("--batch")->empty();
    action = [options, verb, run](const Machine& machine) {
      if (!options->language.job.texts.empty()) check_language_distill_options(*verb);
      run(*options, machine);
    };
  });
}

}  // namespace halftone::cli

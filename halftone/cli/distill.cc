// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "halftone/api/option_fields.h"
#include "halftone/cli/field_options.h"
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
  return student;
}

void add_teaching_options(CLI::App& verb, DistillArguments& options, CLI::Option* student) {
  const Fields fields = fields_of(options.teaching);
  add_fields(verb, fields);
  option_of(verb, fields, "fresh")->needs(student);
  option_of(verb, fields, "teacher_cache")->check(written_path());
  CLI::Option* crossbar = option_of(verb, fields, "crossbar")->check(read_path("DEVICE"));
  option_of(verb, fields, "crossbar_seconds")->needs(crossbar);
  add_memory_option(verb, options.teaching.sample_memory_bytes);
  verb.add_option(
          "--feature", options.features,
          "TEACHER_VALUE=STUDENT_VALUE[:WEIGHT] to be alike, of the first teacher; repeatable")
      ->allow_extra_args(false);
}

}  // namespace

void add_distill(CLI::App& app, Action& action,
                 std::function<void(const DistillArguments&, const Machine&)> run) {
  const auto options = std::make_shared<DistillArguments>();
  CLI::App* verb = add_verb(app, "distill", "Train a network in few bits on a teacher's answers",
                            kExamples, options->training.common);
  CLI::Option* student = add_network_options(*verb, *options);
  add_recipe_options(*verb, options->recipe);
  add_teaching_options(*verb, *options, student);
  add_training_options(*verb, options->training);
  CLI::Option* data = verb->get_option("--data")->required(false);
  CLI::Option* text = add_language_distill_options(*verb, options->language)->excludes(data);
  verb->final_callback([options, &action, verb, data, text, student, run = std::move(run)] {
    if (data->empty() && text->empty()) throw CLI::RequiredError(data->get_name());
    if (!text->empty() && student->empty()) throw CLI::RequiredError(student->get_name());
    if (!verb->get_option("--learning-rate")->empty()) {
      options->language.learning_rate = options->training.train.learning_rate;
    }
    if (!verb->get_option("--batch")->empty()) {
      options->language.batch = options->training.data.batch;
    }
    action = [options, verb, run](const Machine& machine) {
      if (!options->language.texts.empty()) check_language_distill_options(*verb);
      run(*options, machine);
    };
  });
}

}  // namespace halftone::cli

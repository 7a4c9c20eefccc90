// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/training.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "halftone/accel/crossbar/inexact_layer.h"
#include "halftone/api/elapsed.h"
#include "halftone/api/network.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/paths.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize.h"
#include "halftone/formats/model.h"
#include "halftone/train/learn/initial_values.h"
#include "halftone/train/run/check_training.h"
#include "halftone/train/run/stages.h"

namespace halftone {
namespace {

void start(const TrainingSettings& settings) {
  if (settings.on_start) settings.on_start();
}

Trained trained(train::TrainedGraph result, const Elapsed& elapsed) {
  Trained trained{std::move(result.graph), {}};
  TrainReport& report = trained.report;
  report.interrupted = result.interrupted;
  report.epochs = std::move(result.epochs);
  report.best = result.best;
  report.seconds = elapsed.seconds();
  return trained;
}

/// Writes the trained network, on the first rank.
TrainReport finish(const TrainingJob& job, std::uintmax_t input_bytes, Trained trained,
                   const Elapsed& elapsed) {
  TrainReport report = std::move(trained.report);
  if (!report.interrupted && job.options.devices.rank() == 0) {
    save(std::move(trained.graph), job.output);
    report.input_bytes = input_bytes;
    report.output_bytes = bytes_of_file(job.output);
  }
  report.seconds = elapsed.seconds();
  return report;
}

void check_distillation(std::size_t num_teachers, const DistillSettings& how,
                        const TrainingSettings& settings) {
  if (num_teachers == 0) fail(ErrorKind::kUsage, "distillation: expected a teacher, found none");
  if (!how.stages.empty() && !how.recipe) {
    fail(ErrorKind::kUsage, "stages: expected settings of a recipe too, such as bits per weight",
         Hint::kRecipe);
  }
  if (how.recipe && how.recipe->fit.equalize && !settings.options.features.empty()) {
    fail(ErrorKind::kUsage,
         "equalize: it changes the scales of the values that features compare; leave out one of "
         "them",
         Hint::kRecipe);
  }
  if (how.crossbar) how.crossbar->check();
  train::torch_device(settings.student.device);
}

/// The student before it is quantized: a float network, or one in few bits.
ir::Graph make_student(const std::vector<ir::Graph>& teachers, std::optional<Network> student,
                       const DistillSettings& how, std::uint64_t seed) {
  if (!student) return teachers.front();
  ir::Graph graph = prepared(*std::move(student), Purpose::kFit);
  return how.fresh ? train::with_initial_values(std::move(graph), seed) : graph;
}

/// Equalizes the student as its recipe says: once, so that the float weights remain those that the
/// codes represent.
/// @return the recipe of what remains to be done
std::optional<compress::Recipe> equalize_student(ir::Graph& student, const DistillSettings& how) {
  std::optional<compress::Recipe> recipe = how.recipe;
  if (!recipe) return recipe;
  compress::equalize_layers(student, *recipe);
  recipe->fit.equalize = false;
  return recipe;
}

/// Quantizes networks, fitted to the first samples; or returns the student as it is.
train::MakeStudent student_maker(const ir::Graph& student, const data::Dataset& data,
                                 const DistillSettings& how, const train::LearnOptions& options) {
  if (!how.recipe) return [&student](const auto&, const auto&) { return student; };
  return [&](const ir::Graph& network, const compress::Recipe& recipe) {
    return compress::quantize(network, data.first(how.calibration_samples), recipe,
                              {options.seed, options.progress, options.devices, how.memory_bytes})
        .graph;
  };
}

/// The options of the student, with the cells of the crossbar.
train::StudentOptions student_options(const train::StudentOptions& student,
                                      const std::optional<crossbar::CrossbarDevice>& crossbar) {
  train::StudentOptions options = student;
  if (!crossbar) return options;
  options.hardware.settings = crossbar::cell_settings(*crossbar);
  options.hardware.seen = [device = *crossbar](const ir::Graph& graph, const ir::Node& node,
                                               const ir::EncodedTensor& weights,
                                               std::uint64_t seed) {
    return crossbar::inexact_layer(graph, node, weights, device, seed);
  };
  return options;
}

/// Students of which the crossbar computes at least one layer.
train::MakeStudent mapped_maker(train::MakeStudent make,
                                const std::optional<crossbar::CrossbarDevice>& device) {
  if (!device) return make;
  return
      [make = std::move(make), &device](const ir::Graph& network, const compress::Recipe& recipe) {
        ir::Graph student = make(network, recipe);
        crossbar::check_any_mapped(crossbar::layer_uses(student, *device), "student");
        return student;
      };
}

void add_written(FileUses& uses, const train::LearnOptions& options) {
  uses.write("checkpoint", options.checkpoint.path);
  uses.write("teacher cache", options.teacher_cache);
}

void check_files(const TrainingJob& job, std::span<const std::filesystem::path> networks) {
  FileUses uses;
  for (const std::filesystem::path& path : networks) uses.read("model", path);
  job.data.add_to(uses);
  uses.write("output", job.output);
  add_written(uses, job.options);
  uses.check();
}

void check_files(const train::LearnOptions& options, std::span<const Network> networks,
                 const data::Dataset& data) {
  FileUses uses;
  for (const Network& network : networks) uses.read("model", network.name);
  uses.read_samples("data", data.name());
  add_written(uses, options);
  uses.check();
}

}  // namespace

Trained train_network(Network network, const data::Dataset& data, bool keeps_values,
                      const TrainingSettings& settings) {
  const Elapsed elapsed;
  train::torch_device(settings.student.device);
  check_files(settings.options, {&network, 1}, data);
  ir::Graph graph = prepared(with_samples(std::move(network), data), Purpose::kFit);
  train::LearnOptions options = settings.options;
  options.loss.label_weight = 1;
  train::check_training(options, data, 0);
  if (!keeps_values) graph = train::with_initial_values(std::move(graph), options.seed);
  start(settings);
  return trained(train::train(graph, nullptr, {{}, data}, settings.student, options), elapsed);
}

Trained distill_network(std::vector<Network> teachers, std::optional<Network> student,
                        const data::Dataset& data, const DistillSettings& how,
                        const TrainingSettings& settings) {
  const Elapsed elapsed;
  check_distillation(teachers.size(), how, settings);
  check_files(settings.options, teachers, data);
  // A teacher may be of integers; what learns may not: rounding to integers has no gradient.
  const Purpose purpose = student ? Purpose::kFitOnFloats : Purpose::kFit;
  std::vector<ir::Graph> graphs;
  for (Network& teacher : teachers) {
    graphs.push_back(prepared(with_samples(std::move(teacher), data), purpose));
  }
  if (student) student = with_samples(*std::move(student), data);
  ir::Graph network = make_student(graphs, std::move(student), how, settings.options.seed);
  const std::optional<compress::Recipe> recipe = equalize_student(network, how);
  train::check_training(settings.options, data, graphs.size());
  start(settings);
  // Holds the float weights that the codes represent.
  const ir::Graph& original = how.recipe ? network : graphs.front();
  train::TrainedGraph result = train::train_in_stages(
      original,
      {how.stages, recipe.value_or(compress::Recipe{}),
       mapped_maker(student_maker(network, data, how, settings.options), how.crossbar)},
      {graphs, data}, student_options(settings.student, how.crossbar), settings.options);
  // Training has moved the levels on which the rule depends.
  if (how.recipe) {
    compress::fix_arithmetic(result.graph, compress::with_ends(original, *how.recipe));
  }
  Trained done = trained(std::move(result), elapsed);
  done.report.has_teacher = true;
  if (how.crossbar) done.report.layers = crossbar::layer_uses(done.graph, *how.crossbar);
  return done;
}

TrainReport train_file(const TrainJob& job) {
  const Elapsed elapsed;
  const TrainingJob& training = job.training;
  train::torch_device(training.student.device);
  check_files(training, {&job.network, 1});
  Network network = load(job.network, training.import);
  const std::uintmax_t input_bytes = network.file_bytes;
  const data::Dataset data = training.data.open();
  network = with_samples(std::move(network), data);
  formats::check_model(prepared(network, Purpose::kFit), training.output);
  return finish(training, input_bytes,
                train_network(std::move(network), data, job.keeps_values, training), elapsed);
}

TrainReport distill_files(const DistillJob& job) {
  const Elapsed elapsed;
  const TrainingJob& training = job.training;
  check_distillation(job.teachers.size(), job, training);
  std::vector<std::filesystem::path> paths = job.teachers;
  if (!job.student.empty()) paths.push_back(job.student);
  check_files(training, paths);
  std::vector<Network> teachers = load_all(paths, training.import);
  std::optional<Network> student;
  if (!job.student.empty()) {
    student = std::move(teachers.back());
    teachers.pop_back();
  }
  const Network& input = student ? *student : teachers.front();
  const std::uintmax_t input_bytes = input.file_bytes;
  const data::Dataset data = training.data.open();
  formats::check_model(prepared(with_samples(input, data), Purpose::kFit), training.output);
  return finish(training, input_bytes,
                distill_network(std::move(teachers), std::move(student), data, job, training),
                elapsed);
}

}  // namespace halftone

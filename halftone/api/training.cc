// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/training.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "halftone/accel/crossbar/seen_layer.h"
#include "halftone/api/elapsed.h"
#include "halftone/api/network.h"
#include "halftone/base/error.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize.h"
#include "halftone/formats/model.h"
#include "halftone/train/learn/initial_values.h"
#include "halftone/train/run/check_training.h"
#include "halftone/train/run/stages.h"

namespace halftone {
namespace {

void start(const TrainingJob& job) {
  if (job.on_start) job.on_start();
}

/// Writes the trained network, on the first rank.
TrainReport finish(const TrainingJob& job, std::uintmax_t input_bytes, train::TrainResult result,
                   const Elapsed& elapsed) {
  TrainReport report;
  report.interrupted = result.interrupted;
  report.epochs = std::move(result.epochs);
  report.best = result.best;
  if (!result.interrupted && job.options.devices.rank() == 0) {
    save(std::move(result.graph), job.output);
    report.input_bytes = input_bytes;
    report.output_bytes = std::filesystem::file_size(job.output);
  }
  report.seconds = elapsed.seconds();
  return report;
}

void check_distillation(const DistillJob& job) {
  if (job.teachers.empty()) fail(ErrorKind::kUsage, "distillation: expected a teacher, found none");
  if (!job.stages.empty() && !job.recipe) {
    fail(ErrorKind::kUsage, "stages: expected settings of a recipe too, such as bits per weight",
         Hint::kRecipe);
  }
  if (job.recipe && job.recipe->fit.equalize && !job.training.options.features.empty()) {
    fail(ErrorKind::kUsage,
         "equalize: it changes the scales of the values that features compare; leave out one of "
         "them",
         Hint::kRecipe);
  }
  if (job.crossbar) job.crossbar->check();
  check_output(job.training.output, job.teachers);
  if (!job.student.empty()) check_output(job.training.output, {&job.student, 1});
  train::torch_device(job.training.student.device);
}

struct DistilledNetworks {
  std::vector<ir::Graph> teachers;
  ir::Graph student;                 ///< float, or from a file in few bits
  std::uintmax_t student_bytes = 0;  ///< of its files
};

DistilledNetworks load_networks(const DistillJob& job) {
  std::vector<std::filesystem::path> paths = job.teachers;
  if (!job.student.empty()) paths.push_back(job.student);
  DistilledNetworks networks;
  std::vector<Network> loaded = load_all(paths, job.training.import);
  networks.student_bytes = (job.student.empty() ? loaded.front() : loaded.back()).file_bytes;
  for (Network& network : loaded) {
    networks.teachers.push_back(prepared(std::move(network), Purpose::kFit));
  }
  networks.student = networks.teachers.front();
  if (job.student.empty()) return networks;
  networks.student = std::move(networks.teachers.back());
  networks.teachers.pop_back();
  if (job.fresh) {
    networks.student =
        train::with_initial_values(std::move(networks.student), job.training.options.seed);
  }
  return networks;
}

/// Equalizes the student as its recipe says: once, so that the float weights remain those that the
/// codes represent.
/// @return the recipe of what remains to be done
std::optional<compress::Recipe> equalize_student(ir::Graph& student, const DistillJob& job) {
  std::optional<compress::Recipe> recipe = job.recipe;
  if (!recipe) return recipe;
  compress::equalize_layers(student, *recipe);
  recipe->fit.equalize = false;
  return recipe;
}

/// Quantizes networks, fitted to the first samples; or returns the student as it is.
train::MakeStudent student_maker(const DistillJob& job, const ir::Graph& student) {
  if (!job.recipe) return [&student](const auto&, const auto&) { return student; };
  return [&job](const ir::Graph& network, const compress::Recipe& recipe) {
    DataSource few = job.training.data;
    few.options.limit =
        std::min(job.calibration_samples, few.options.limit.value_or(job.calibration_samples));
    const train::TrainOptions& options = job.training.options;
    return compress::quantize(network, few.open(), recipe,
                              {options.seed, options.progress, options.devices, job.memory_bytes})
        .graph;
  };
}

/// The options of the student, with the cells of the crossbar.
train::StudentOptions student_options(const DistillJob& job) {
  train::StudentOptions options = job.training.student;
  if (!job.crossbar) return options;
  options.hardware.settings = crossbar::cell_settings(*job.crossbar);
  options.hardware.seen = [device = *job.crossbar](const ir::Graph& graph, const ir::Node& node,
                                                   const ir::EncodedTensor& weights,
                                                   std::uint64_t seed) {
    return crossbar::seen_layer(graph, node, weights, device, seed);
  };
  return options;
}

/// Students of which the crossbar computes at least one layer.
train::MakeStudent mapped_maker(train::MakeStudent make,
                                const std::optional<crossbar::Device>& device) {
  if (!device) return make;
  return
      [make = std::move(make), &device](const ir::Graph& network, const compress::Recipe& recipe) {
        ir::Graph student = make(network, recipe);
        crossbar::check_any_mapped(crossbar::layer_uses(student, *device), "student");
        return student;
      };
}

}  // namespace

TrainReport train_file(const TrainJob& job) {
  const Elapsed elapsed;
  const TrainingJob& training = job.training;
  train::torch_device(training.student.device);
  check_output(training.output, {&job.network, 1});
  Network loaded = load(job.network, training.import);
  const std::uintmax_t input_bytes = loaded.file_bytes;
  ir::Graph network = prepared(std::move(loaded), Purpose::kFit);
  formats::check_model(network, training.output);
  const data::Dataset data = training.data.open();
  train::TrainOptions options = training.options;
  options.loss.label_weight = 1;
  train::check_training(options, data, 0);
  if (!job.keeps_values) network = train::with_initial_values(std::move(network), options.seed);
  start(training);
  return finish(training, input_bytes,
                train::train(network, nullptr, {{}, data}, training.student, options), elapsed);
}

TrainReport distill_files(const DistillJob& job) {
  const Elapsed elapsed;
  check_distillation(job);
  const TrainingJob& training = job.training;
  auto [teachers, student, input_bytes] = load_networks(job);
  const std::optional<compress::Recipe> recipe = equalize_student(student, job);
  formats::check_model(student, training.output);
  const data::Dataset data = training.data.open();
  train::check_training(training.options, data, teachers.size());
  start(training);
  // Holds the float weights that the codes represent.
  const ir::Graph& original = job.recipe ? student : teachers.front();
  train::TrainResult result =
      train::train_in_stages(original,
                             {job.stages, recipe.value_or(compress::Recipe{}),
                              mapped_maker(student_maker(job, student), job.crossbar)},
                             {teachers, data}, student_options(job), training.options);
  // Training has moved the levels on which the rule depends.
  if (job.recipe) compress::fix_arithmetic(result.graph, *job.recipe);
  std::vector<crossbar::LayerUse> layers;
  if (job.crossbar) layers = crossbar::layer_uses(result.graph, *job.crossbar);
  TrainReport report = finish(training, input_bytes, std::move(result), elapsed);
  report.has_teacher = true;
  report.layers = std::move(layers);
  return report;
}

}  // namespace halftone

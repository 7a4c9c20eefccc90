// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/learner.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <memory>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/spmd/collectives.h"
#include "halftone/spmd/map.h"
#include "halftone/train/learn/distillation_loss.h"
#include "halftone/train/samples/validation_accuracy.h"
#include "halftone/train/student/format_rounding.h"

namespace halftone::train {
namespace {

constexpr const char* kPartAxis = "part";

/// An array that shares the tensor's elements.
template <typename T>
spmd::Array to_array(const at::Tensor& tensor) {
  auto owner = std::make_shared<at::Tensor>(tensor.detach().cpu().contiguous());
  const std::span<const T> numbers(owner->data_ptr<T>(), static_cast<std::size_t>(owner->numel()));
  return spmd::Array::wrap<T>({tensor.sizes().begin(), tensor.sizes().end()}, numbers, owner);
}

template <typename T>
at::Tensor to_tensor(const spmd::Array& array, at::ScalarType type) {
  const std::vector<std::int64_t> sizes(array.shape().begin(), array.shape().end());
  return at::from_blob(const_cast<T*>(array.as<T>().data()), sizes, at::TensorOptions(type))
      .clone();
}

std::vector<spmd::Array> to_arrays(const std::vector<at::Tensor>& statistics) {
  std::vector<spmd::Array> arrays;
  for (const at::Tensor& each : statistics) arrays.push_back(to_array<double>(each));
  return arrays;
}

std::vector<at::Tensor> to_statistics(const std::vector<spmd::Array>& arrays) {
  std::vector<at::Tensor> statistics;
  for (const spmd::Array& each : arrays) statistics.push_back(to_tensor<double>(each, at::kDouble));
  return statistics;
}

FeatureValues features_of(const std::vector<ir::Graph>& teachers, const ir::Graph& student,
                          const TrainOptions& options) {
  if (options.features.empty()) return {};
  return find_features(teachers.front(), student, options.features);
}

}  // namespace

Learner::Learner(const ir::Graph& student, const ir::Graph* original, const TrainingData& data,
                 const StudentOptions& student_options, const TrainOptions& options)
    : options_(options),
      num_outputs_(student.outputs().size()),
      features_(features_of(data.teachers, student, options)),
      student_(with_scores(with_outputs(student, features_.student)), original, student_options),
      batches_(data.samples, student, options.augment, options.seed),
      optimizer_(student_.parameters(), student_.num_level_parameters(), options.optimizer) {
  teachers_.emplace(data.teachers, batches_, part_samples(), features_.teacher);
  check_classes();
  if (!options.teacher_cache.empty()) {
    teachers_->use_cache(options.teacher_cache, options_.devices, options_.progress);
  }
}

std::int64_t Learner::num_classes() const {
  return student_.source().value(student_.source().outputs().back()).type.shape[1];
}

void Learner::check_classes() const {
  if (teachers_->empty() || teachers_->classes() == num_classes()) return;
  fail(ErrorKind::kShape, "teacher 1 has " + std::to_string(teachers_->classes()) +
                              " classes, the student has " + std::to_string(num_classes()));
}

void Learner::start(std::span<const std::size_t> samples) {
  const auto lane = [&] {
    const ThreadLimit limit(1);  // as in look_at_part()
    const std::size_t part = spmd::axis_index(kPartAxis);
    const auto mine = samples.subspan(part * part_samples(), part_samples());
    return to_arrays(student_.forward(batches_.inputs(mine, 0), PassKind::kMeasure).statistics);
  };
  student_.start(to_statistics(spmd::spread_sum(lane, {.axis_name = kPartAxis,
                                                       .axis_size = samples.size() / part_samples(),
                                                       .devices = options_.devices})()));
}

BatchResult Learner::look_at(std::span<const std::size_t> batch, std::size_t epoch,
                             std::size_t step) {
  const auto lane = [&] {
    const std::size_t part = spmd::axis_index(kPartAxis);
    return look_at_part(batch.subspan(part * part_samples(), part_samples()), epoch,
                        seed_of(options_.seed, {epoch, step, part}));
  };
  return spmd::spread_sum(
      lane, {.axis_name = kPartAxis, .axis_size = options_.parts, .devices = options_.devices})();
}

BatchResult Learner::look_at_part(std::span<const std::size_t> samples, std::size_t epoch,
                                  std::uint64_t seed) {
  // With several threads, a library's order of summation would change the bits.
  const ThreadLimit limit(1);
  const std::vector<at::Tensor> inputs = batches_.inputs(samples, epoch);
  const at::Tensor labels = batches_.labels(samples);
  const Answers answers = teachers_->empty() ? Answers() : teachers_->answer(samples, epoch);
  const at::Tensor taught = this->taught(answers);
  const Student::Pass pass = student_.forward(inputs, PassKind::kLearn, seed);
  const at::Tensor& scores = pass.outputs.back();
  const auto on_device = [&](const at::Tensor& t) {
    return t.defined() ? t.to(scores.device()) : t;
  };
  const auto features = std::span(pass.outputs).subspan(num_outputs_, options_.features.size());
  const at::Tensor loss =
      (distillation_loss(scores, on_device(taught), on_device(labels), options_.loss) +
       feature_loss(features, answers.features, options_.features)) /
      static_cast<double>(options_.batch);
  const double scale = options_.loss_scale;
  const auto gradients = torch::autograd::grad({loss * scale}, student_.parameters(), {},
                                               c10::nullopt, false, /*allow_unused=*/true);
  BatchResult result;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& p = student_.parameters()[i];
    result.gradients.push_back(
        to_array<float>(gradients[i].defined() ? gradients[i] / scale : at::zeros_like(p)));
  }
  result.statistics = to_arrays(pass.statistics);
  const at::Tensor wanted = taught.defined() ? taught.argmax(1) : labels;
  const double agreed = scores.detach().cpu().argmax(1).eq(wanted).sum().item<double>();
  // The first rank runs the first part.
  const bool stops =
      spmd::axis_index(kPartAxis) == 0 && options_.stop_requested && options_.stop_requested();
  result.tally = spmd::Array::of({loss.item<double>(), agreed, stops ? 1.0 : 0.0});
  return result;
}

void Learner::learn(const BatchResult& sum, double rate) {
  const ThreadLimit limit(1);  // as in look_at_part()
  std::vector<at::Tensor> gradients(student_.parameters().size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (student_.is_frozen(i)) continue;
    gradients[i] =
        to_tensor<float>(sum.gradients[i], at::kFloat).to(student_.parameters()[i].device());
  }
  optimizer_.step(gradients, rate);
  student_.update(to_statistics(sum.statistics));
}

double Learner::validation_accuracy(std::span<const std::size_t> samples) {
  return train::validation_accuracy(
      samples, part_samples(), options_.devices,
      [this](std::span<const std::size_t> part) { return num_right(part); });
}

std::int64_t Learner::num_right(std::span<const std::size_t> samples) {
  const at::NoGradGuard no_gradient;
  const at::Tensor labels = batches_.labels(samples);
  const at::Tensor wanted =
      labels.defined() ? labels : taught(teachers_->answer(samples, std::nullopt)).argmax(1);
  const Student::Pass pass = student_.forward(batches_.plain_inputs(samples), PassKind::kApply);
  return pass.outputs.back().cpu().argmax(1).eq(wanted).sum().item<std::int64_t>();
}

/// The combined answer of the teachers; undefined without teachers.
at::Tensor Learner::taught(const Answers& answers) const {
  if (!answers.scores.defined()) return {};
  return mean_answer(answers.scores, options_.loss.temperature);
}

ir::Graph Learner::graph() const {
  ir::Graph graph = student_.graph();
  const auto outputs = graph.outputs().first(num_outputs_);
  graph.set_outputs({outputs.begin(), outputs.end()});
  return graph;
}

}  // namespace halftone::train

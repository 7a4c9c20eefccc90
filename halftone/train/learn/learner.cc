// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/learner.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <memory>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"
#include "halftone/train/graph/torch_memory.h"
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
                          const LearnOptions& options) {
  if (options.features.empty()) return {};
  return find_features(teachers.front(), student, options.features);
}

}  // namespace

Learner::Learner(const ir::Graph& student, const ir::Graph* original, const TrainingData& data,
                 const StudentOptions& student_options, const LearnOptions& options)
    : options_(options),
      num_outputs_(student.outputs().size()),
      features_(features_of(data.teachers, student, options)),
      student_(with_scores(with_outputs(student, features_.student)), original, student_options),
      batches_(data.samples, student, options.augment, options.seed),
      optimizer_(student_.parameters(), student_.num_level_parameters(), options.optimizer) {
  extents_ = score_extents(scores());
  is_regression_ = options.loss.kind == LossKind::kSquaredError ||
                   (options.loss.kind == LossKind::kAuto && extents_.classes == 1);
  teachers_.emplace(data.teachers, batches_, part_samples(), features_.teacher);
  check_scores();
  if (!options.teacher_cache.empty()) {
    teachers_->use_cache(options.teacher_cache, options_.devices, options_.progress);
  }
}

const ir::Shape& Learner::scores() const {
  return student_.source().value(student_.source().outputs().back()).type.shape;
}

bool Learner::takes_labels() const { return extents_.positions == 1 && !is_regression_; }

void Learner::check_scores() const {
  if (!teachers_->empty() && score_extents(teachers_->scores()) != extents_) {
    fail(ErrorKind::kShape, "teacher 1 has scores " + teachers_->scores().to_string() +
                                ", the student has " + scores().to_string());
  }
  if (options_.loss.label_weight == 0 || takes_labels()) return;
  fail(ErrorKind::kUnsupported,
       "labels: expected scores of classes [N, classes], one label for each sample, found " +
           scores().to_string() + (is_regression_ ? " of a regression" : "") +
           "; distill without labels instead");
}

void Learner::start(std::span<const std::size_t> samples) {
  const auto lane = [&] {
    const ThreadLimit limit(1);  // as in look_at_part()
    const std::size_t part = spmd::axis_index(kPartAxis);
    const auto mine = samples.subspan(part * part_samples(), part_samples());
    return with_torch_memory([&] {
      return to_arrays(student_.forward(batches_.inputs(mine, 0), PassKind::kMeasure).statistics);
    });
  };
  student_.start(to_statistics(spmd::spread_sum(lane, {.axis_name = kPartAxis,
                                                       .axis_size = samples.size() / part_samples(),
                                                       .devices = options_.devices})()));
}

BatchResult Learner::look_at(std::span<const std::size_t> batch, std::size_t epoch,
                             std::size_t step) {
  student_.program(seed_of(options_.seed, {epoch, step}));
  const auto lane = [&] {
    const std::size_t part = spmd::axis_index(kPartAxis);
    return with_torch_memory([&] {
      return look_at_part(batch.subspan(part * part_samples(), part_samples()), epoch,
                          seed_of(options_.seed, {epoch, step, part}));
    });
  };
  BatchResult result = spmd::spread_sum(
      lane, {.axis_name = kPartAxis, .axis_size = options_.parts, .devices = options_.devices})();
  result.stops = is_any_rank_asked(options_.stop_requested && options_.stop_requested());
  return result;
}

/// Whether any rank is asked to stop, also one that has no part of a batch.
/// @param is_asked  whether this rank is
bool Learner::is_any_rank_asked(bool is_asked) const {
  const spmd::Devices& devices = options_.devices;
  if (!devices.spans_ranks()) return is_asked;
  const auto lane = [is_asked] { return spmd::Array::of({is_asked ? 1.0 : 0.0}); };
  const spmd::Array asked = spmd::spread_sum(
      lane, {.axis_name = "device", .axis_size = devices.size(), .devices = devices})();
  return asked.as<double>()[0] > 0;
}

BatchResult Learner::look_at_part(std::span<const std::size_t> samples, std::size_t epoch,
                                  std::uint64_t seed) {
  // With several threads, a library's order of summation would change the bits.
  const ThreadLimit limit(1);
  const std::vector<at::Tensor> inputs = batches_.inputs(samples, epoch);
  const at::Tensor labels = batches_.labels(samples);
  const Answers answers = teachers_->empty() ? Answers() : teachers_->answer(samples, epoch);
  const Student::Pass pass = student_.forward(inputs, PassKind::kLearn, seed);
  const at::Tensor& scores = pass.outputs.back();
  const auto features = std::span(pass.outputs).subspan(num_outputs_, options_.features.size());
  const at::Tensor loss = (loss_of(scores, answers.scores, labels) +
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
  result.tally = spmd::Array::of(
      {loss.item<double>(), num_agreed(scores.detach().cpu(), answers.scores, labels)});
  return result;
}

/// The loss of a part of a batch, summed over its samples and averaged over their positions.
/// @param teachers  [teachers, samples, scores]; undefined without teachers
at::Tensor Learner::loss_of(const at::Tensor& scores, const at::Tensor& teachers,
                            const at::Tensor& labels) const {
  const auto on_device = [&](const at::Tensor& t) {
    return t.defined() ? t.to(scores.device()) : t;
  };
  if (is_regression_) return squared_error_loss(scores.flatten(1), on_device(teachers));
  const at::Tensor sum = distillation_loss(rows_of_classes(scores), on_device(taught(teachers)),
                                           on_device(labels), options_.loss);
  return extents_.positions == 1 ? sum : sum / static_cast<double>(extents_.positions);
}

/// The number of samples whose answers agree with the teachers or, without teachers, the labels. A
/// sample with several positions counts by their share; one of a regression by 1 - |s - t|^2 /
/// |t|^2, if that is positive, for the scores s of the student and t of the teachers.
double Learner::num_agreed(const at::Tensor& scores, const at::Tensor& teachers,
                           const at::Tensor& labels) const {
  if (is_regression_) {
    const at::Tensor t = teachers.mean(0).to(at::kDouble);
    const at::Tensor error = (scores.flatten(1).to(at::kDouble) - t).square().sum(1);
    const at::Tensor size = t.square().sum(1);
    return at::where(error.ge(size), (error.eq(size) & size.eq(0)).to(at::kDouble),
                     1 - error / size)
        .sum()
        .item<double>();
  }
  const at::Tensor wanted = teachers.defined() ? taught(teachers).argmax(1) : labels;
  return rows_of_classes(scores).argmax(1).eq(wanted).sum().item<double>() /
         static_cast<double>(extents_.positions);
}

/// [samples x positions, classes].
at::Tensor Learner::rows_of_classes(const at::Tensor& scores) const {
  return scores.reshape({-1, extents_.classes});
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
  student_.program(options_.seed);
  return train::validation_accuracy(samples, part_samples(), options_.devices,
                                    [this](std::span<const std::size_t> part) {
                                      return with_torch_memory([&] { return num_right(part); });
                                    });
}

double Learner::num_right(std::span<const std::size_t> samples) {
  const at::NoGradGuard no_gradient;
  const at::Tensor labels = takes_labels() ? batches_.labels(samples) : at::Tensor();
  const Answers answers = labels.defined() ? Answers() : teachers_->answer(samples, std::nullopt);
  const Student::Pass pass = student_.forward(batches_.plain_inputs(samples), PassKind::kApply);
  return num_agreed(pass.outputs.back().cpu(), answers.scores, labels);
}

/// The combined answer of the teachers at each position; undefined without teachers.
at::Tensor Learner::taught(const at::Tensor& teachers) const {
  if (!teachers.defined()) return {};
  return mean_answer(teachers.reshape({teachers.size(0), -1, extents_.classes}),
                     options_.loss.temperature);
}

ir::Graph Learner::graph() const {
  ir::Graph graph = student_.graph();
  const auto outputs = graph.outputs().first(num_outputs_);
  graph.set_outputs({outputs.begin(), outputs.end()});
  graph.remove_unused_nodes();
  return graph;
}

}  // namespace halftone::train

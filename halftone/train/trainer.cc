// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/trainer.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/spmd/collectives.h"
#include "halftone/spmd/map.h"
#include "halftone/train/batches.h"
#include "halftone/train/teacher/teachers.h"

namespace halftone::train {
namespace {

constexpr const char* kAxis = "part";
constexpr std::size_t kMeasuredBatches = 8;
/// Beyond it the loss itself might leave the range of float32.
constexpr int kMostScaleExponent = 64;

/// A tensor's numbers as an array that shares them.
template <typename T>
spmd::Array to_array(const at::Tensor& tensor) {
  auto owner = std::make_shared<at::Tensor>(tensor.detach().contiguous());
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

/// What a part of a batch comes to; a tree of arrays, so that parts add up.
struct PartResult {
  std::vector<spmd::Array> gradients;
  std::vector<spmd::Array> statistics;
  spmd::Array tally;  ///< float64 [2] loss, answers that agree

  static auto members(auto& self) { return std::tie(self.gradients, self.statistics, self.tally); }
};

class Training {
 public:
  Training(const ir::Graph& student, const ir::Graph* original,
           const std::vector<ir::Graph>& teachers, const formats::Dataset& data,
           const StudentOptions& student_options, const TrainOptions& options)
      : options_(options),
        num_outputs_(student.outputs().size()),
        features_(features_of(teachers, student, options)),
        student_(with_scores(with_outputs(student, features_.student)), original, student_options),
        batches_(data, student, options.augment, options.seed),
        optimizer_(student_.parameters(), options.optimizer) {
    check_parts();
    teachers_.emplace(teachers, batches_, part_samples(), features_.teacher);
    check();
    if (options_.devices.empty()) options_.devices = spmd::Devices::for_threads();
    if (!options.teacher_cache.empty()) {
      teachers_->use_cache(options.teacher_cache, options_.devices, options_.progress);
    }
  }

  TrainResult run() {
    measure();
    TrainResult result;
    for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch) {
      result.epochs.push_back(run_epoch(epoch));
    }
    result.graph = student_.graph();
    const auto outputs = result.graph.outputs().first(num_outputs_);
    result.graph.set_outputs({outputs.begin(), outputs.end()});
    return result;
  }

 private:
  [[nodiscard]] std::size_t part_samples() const { return options_.batch / options_.parts; }
  [[nodiscard]] std::size_t num_steps() const { return batches_.data().size() / options_.batch; }

  static FeatureValues features_of(const std::vector<ir::Graph>& teachers, const ir::Graph& student,
                                   const TrainOptions& options) {
    if (options.features.empty()) return {};
    if (teachers.empty()) fail(ErrorKind::kUsage, "features need a teacher");
    return find_features(teachers.front(), student, options.features);
  }

  void check_parts() const {
    if (options_.parts == 0 || options_.batch == 0 || options_.batch % options_.parts != 0) {
      fail(ErrorKind::kUsage, "batch: expected a multiple of the " +
                                  std::to_string(options_.parts) + " parts, found " +
                                  std::to_string(options_.batch));
    }
  }

  void check_cache() const {
    if (options_.teacher_cache.empty()) return;
    const auto usage = [](const std::string& text) {
      fail(ErrorKind::kUsage, "a cache of teachers' answers " + text);
    };
    if (teachers_->empty()) usage("needs a teacher");
    if (options_.augment.changes()) {
      usage("holds those to samples as they are; they differ for images that are moved");
    }
    if (!options_.features.empty()) usage("holds no features to match");
  }

  void check() const {
    const auto usage = [](const std::string& text) { fail(ErrorKind::kUsage, text); };
    const formats::Dataset& data = batches_.data();
    if (data.size() < options_.batch) {
      usage(data.name() + ": expected at least the " + std::to_string(options_.batch) +
            " samples of a batch, found " + std::to_string(data.size()));
    }
    const double lambda = options_.loss.label_weight;
    if (!(lambda >= 0 && lambda <= 1)) {
      usage("label weight: expected 0 to 1, found " + std::to_string(lambda));
    }
    if (!(options_.loss.temperature > 0) || !std::isfinite(options_.loss.temperature)) {
      usage("temperature: expected a number above 0, found " +
            std::to_string(options_.loss.temperature));
    }
    int exponent = 0;
    const double scale = options_.loss_scale;
    const bool is_power_of_two = std::frexp(scale, &exponent) == 0.5;
    if (!is_power_of_two || std::abs(exponent - 1) > kMostScaleExponent) {
      usage("loss scale: expected a power of two from 2^-" + std::to_string(kMostScaleExponent) +
            " to 2^" + std::to_string(kMostScaleExponent) + ", found " + std::to_string(scale));
    }
    if (lambda > 0 && !data.has_labels()) {
      usage(data.name() + ": has no labels, which a label weight above 0 needs");
    }
    if (lambda < 1 && teachers_->empty()) usage("a label weight below 1 needs a teacher");
    const std::int64_t classes =
        student_.source().value(student_.source().outputs().back()).type.shape[1];
    if (!teachers_->empty() && teachers_->classes() != classes) {
      fail(ErrorKind::kShape, "teacher 1 tells " + std::to_string(teachers_->classes()) +
                                  " classes apart, the student " + std::to_string(classes));
    }
    check_cache();
  }

  /// Lets the student start where its normalisation changes nothing: for the first batches.
  void measure() {
    const std::vector<std::size_t> order = batches_.shuffled(0);
    const std::size_t num_parts = std::min(num_steps(), kMeasuredBatches) * options_.parts;
    const auto lane = [&] {
      const ThreadLimit limit(1);  // as in run_part()
      const std::size_t part = spmd::axis_index(kAxis);
      const auto samples = std::span(order).subspan(part * part_samples(), part_samples());
      return to_arrays(
          student_.forward(batches_.inputs(samples, 0), PassKind::kMeasure).statistics);
    };
    student_.start(to_statistics(spmd::spread_sum(
        lane, {.axis_name = kAxis, .axis_size = num_parts, .devices = options_.devices})()));
  }

  EpochResult run_epoch(std::size_t epoch) {
    const std::vector<std::size_t> order = batches_.shuffled(epoch);
    EpochResult result;
    for (std::size_t step = 0; step < num_steps(); ++step) {
      const double done = static_cast<double>(epoch * num_steps() + step) /
                          static_cast<double>(options_.epochs * num_steps());
      const double rate = options_.optimizer.rate * (1 + std::cos(std::numbers::pi * done)) / 2;
      const auto batch = std::span(order).subspan(step * options_.batch, options_.batch);
      const spmd::Array learned = learn(batch, epoch, step, rate).tally;
      const auto tally = learned.as<double>();
      if (!std::isfinite(tally[0])) {
        fail(ErrorKind::kUnsupported, "the loss is no number any more in step " +
                                          std::to_string(step + 1) + " of epoch " +
                                          std::to_string(epoch + 1) + "; a smaller rate may help");
      }
      result.loss += tally[0] / static_cast<double>(num_steps());
      result.agreement += tally[1] / static_cast<double>(num_steps() * options_.batch);
      if (options_.progress) options_.progress(done, "epoch " + std::to_string(epoch + 1));
    }
    return result;
  }

  PartResult learn(std::span<const std::size_t> batch, std::size_t epoch, std::size_t step,
                   double rate) {
    const auto lane = [&] {
      const std::size_t part = spmd::axis_index(kAxis);
      return run_part(batch.subspan(part * part_samples(), part_samples()), epoch,
                      seed_of(options_.seed, {epoch, step, part}));
    };
    PartResult sum = spmd::spread_sum(
        lane, {.axis_name = kAxis, .axis_size = options_.parts, .devices = options_.devices})();
    const ThreadLimit limit(1);  // as in run_part()
    const std::vector<at::Tensor>& parameters = student_.parameters();
    std::vector<at::Tensor> gradients;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      gradients.push_back(to_tensor<float>(sum.gradients[i], at::kFloat));
    }
    optimizer_.step(gradients, rate);
    student_.update(to_statistics(sum.statistics));
    return sum;
  }

  PartResult run_part(std::span<const std::size_t> samples, std::size_t epoch, std::uint64_t seed) {
    // How a library divides its sums among threads must not decide their bits.
    const ThreadLimit limit(1);
    const std::vector<at::Tensor> inputs = batches_.inputs(samples, epoch);
    const at::Tensor labels = batches_.labels(samples);
    const Answers answers = teachers_->empty() ? Answers() : teachers_->answer(samples, epoch);
    const at::Tensor taught = answers.scores.defined()
                                  ? mean_answer(answers.scores, options_.loss.temperature)
                                  : at::Tensor();
    const Student::Pass pass = student_.forward(inputs, PassKind::kLearn, seed);
    const at::Tensor& scores = pass.outputs.back();
    const auto features = std::span(pass.outputs).subspan(num_outputs_, options_.features.size());
    const at::Tensor loss = (distillation_loss(scores, taught, labels, options_.loss) +
                             feature_loss(features, answers.features, options_.features)) /
                            static_cast<double>(options_.batch);
    const double scale = options_.loss_scale;
    const auto gradients = torch::autograd::grad({loss * scale}, student_.parameters(), {},
                                                 c10::nullopt, false, /*allow_unused=*/true);
    PartResult result;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor& p = student_.parameters()[i];
      result.gradients.push_back(
          to_array<float>(gradients[i].defined() ? gradients[i] / scale : at::zeros_like(p)));
    }
    result.statistics = to_arrays(pass.statistics);
    const at::Tensor wanted = taught.defined() ? taught.argmax(1) : labels;
    const double agreed = scores.detach().argmax(1).eq(wanted).sum().item<double>();
    result.tally = spmd::Array::of({loss.item<double>(), agreed});
    return result;
  }

  TrainOptions options_;
  std::size_t num_outputs_;  ///< that the student came with; features and scores follow
  FeatureValues features_;
  Student student_;
  Batches batches_;
  std::optional<Teachers> teachers_;
  Optimizer optimizer_;
};

}  // namespace

TrainResult train(const ir::Graph& student, const ir::Graph* original,
                  const std::vector<ir::Graph>& teachers, const formats::Dataset& data,
                  const StudentOptions& student_options, const TrainOptions& options) {
  return Training(student, original, teachers, data, student_options, options).run();
}

}  // namespace halftone::train

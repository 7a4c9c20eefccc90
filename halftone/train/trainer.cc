// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/trainer.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/spmd/collectives.h"
#include "halftone/spmd/map.h"
#include "halftone/train/batches.h"
#include "halftone/train/held_out.h"
#include "halftone/train/identity.h"
#include "halftone/train/schedule.h"
#include "halftone/train/split.h"
#include "halftone/train/teacher/teachers.h"

namespace halftone::train {
namespace {

constexpr const char* kAxis = "part";
constexpr std::size_t kMeasuredBatches = 8;

// Whose tensors they are in a checkpoint.
constexpr const char* kStudent = "student/";
constexpr const char* kOptimizer = "optimizer/";
constexpr const char* kBest = "best/";

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
  spmd::Array tally;  ///< float64 [3] loss, answers that agree, requests to stop

  static auto members(auto& self) { return std::tie(self.gradients, self.statistics, self.tally); }
};

/// With devices.
TrainOptions checked(TrainOptions options, const formats::Dataset& data, std::size_t num_teachers) {
  check_training(options, data, num_teachers);
  if (options.devices.empty()) options.devices = spmd::Devices::for_threads();
  return options;
}

/// One run. What it is given must outlive it.
class Training {
 public:
  Training(const ir::Graph& student, const ir::Graph* original,
           const std::vector<ir::Graph>& teachers, const formats::Dataset& data,
           const StudentOptions& student_options, const TrainOptions& options)
      : options_(checked(options, data, teachers.size())),
        identity_([&student, original, &teachers, &data, &student_options, &options] {
          return identity_of(student, original, teachers, data, student_options, options);
        }),
        file_(options_.checkpoint, options_.devices),
        original_(original),
        num_outputs_(student.outputs().size()),
        features_(features_of(teachers, student, options)),
        student_(with_scores(with_outputs(student, features_.student)), original, student_options),
        batches_(data, student, options.augment, options.seed),
        split_(split_samples(data.size(), options.hold_out, options.seed)),
        schedule_(options.optimizer.schedule, options.epochs, num_steps()),
        optimizer_(student_.parameters(), options.optimizer) {
    teachers_.emplace(teachers, batches_, part_samples(), features_.teacher);
    check_classes();
    if (!options.teacher_cache.empty()) {
      teachers_->use_cache(options.teacher_cache, options_.devices, options_.progress);
    }
  }

  TrainResult run() {
    start();
    bool interrupted = false;
    while (!interrupted && !is_over()) interrupted = !run_epoch();
    if (!interrupted) save();
    return result(interrupted);
  }

 private:
  [[nodiscard]] std::size_t part_samples() const { return options_.batch / options_.parts; }
  [[nodiscard]] std::size_t num_steps() const { return split_.training.size() / options_.batch; }

  static FeatureValues features_of(const std::vector<ir::Graph>& teachers, const ir::Graph& student,
                                   const TrainOptions& options) {
    if (options.features.empty()) return {};
    return find_features(teachers.front(), student, options.features);
  }

  void check_classes() const {
    const std::int64_t classes =
        student_.source().value(student_.source().outputs().back()).type.shape[1];
    if (!teachers_->empty() && teachers_->classes() != classes) {
      fail(ErrorKind::kShape, "teacher 1 tells " + std::to_string(teachers_->classes()) +
                                  " classes apart, the student " + std::to_string(classes));
    }
    if (options_.loss.label_weight > 0 || !split_.held_out.empty()) check_labels(classes);
  }

  /// Lets the student start where its normalisation changes nothing: for the first batches.
  void measure() {
    const std::vector<std::size_t> order = batches_.shuffled(split_.training, 0);
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

  void check_labels(std::int64_t classes) const {
    const formats::Dataset& data = batches_.data();
    for (std::size_t sample = 0; data.has_labels() && sample < data.size(); ++sample) {
      const std::int64_t label = data.label(sample);
      if (label >= 0 && label < classes) continue;
      fail(ErrorKind::kFormat, data.name() + ": label of sample " + std::to_string(sample) +
                                   ": expected 0 to " + std::to_string(classes - 1) + ", found " +
                                   std::to_string(label));
    }
  }

  /// Goes on from the checkpoint, or writes the first one: a run that could not be kept does not
  /// begin.
  void start() {
    const std::optional<Checkpoint> found = file_.open(identity_);
    if (!found) {
      measure();
      return save();
    }
    with_context(options_.checkpoint.path, [&] {
      student_.set_state(without_prefix(kStudent, found->tensors));
      optimizer_.set_state(without_prefix(kOptimizer, found->tensors));
    });
    best_ = without_prefix(kBest, found->tensors);
    steps_ = found->steps;
    epochs_ = found->epochs;
    unfinished_ = found->unfinished;
  }

  /// Writes a checkpoint, unless its numbers are none any more.
  void save() {
    Checkpoint checkpoint{{}, steps_, epochs_, unfinished_, {}};
    const auto add = [&](const char* prefix, const State& state) {
      const State named = with_prefix(prefix, state);
      checkpoint.tensors.insert(checkpoint.tensors.end(), named.begin(), named.end());
    };
    add(kStudent, student_.state());
    add(kOptimizer, optimizer_.state());
    add(kBest, best_);
    if (!is_finite(checkpoint.tensors)) fail_diverged("a parameter is");
    file_.save(std::move(checkpoint));
    record();
  }

  void record() const {
    if (options_.record && options_.devices.rank() == 0) options_.record(epochs_);
  }

  [[noreturn]] void fail_diverged(const std::string& what) const {
    const std::string kept =
        file_.is_kept() ? "; " + options_.checkpoint.path + " is as it was last written" : "";
    fail(ErrorKind::kUnsupported, what + " no number any more in step " +
                                      std::to_string(steps_ % num_steps() + 1) + " of epoch " +
                                      std::to_string(steps_ / num_steps() + 1) +
                                      "; a smaller rate may help" + kept);
  }

  [[nodiscard]] bool is_over() const {
    if (steps_ >= options_.epochs * num_steps()) return true;
    const std::optional<std::size_t> best = best_epoch(epochs_);
    return best && options_.patience > 0 && epochs_.size() - 1 - *best >= options_.patience;
  }

  [[nodiscard]] TrainResult result(bool interrupted) {
    TrainResult result;
    result.epochs = epochs_;
    result.interrupted = interrupted;
    result.best = best_epoch(epochs_);
    if (result.best) student_.set_state(best_);
    if (original_ != nullptr) result.original = student_.with_learned_numbers(*original_);
    result.graph = student_.graph();
    const auto outputs = result.graph.outputs().first(num_outputs_);
    result.graph.set_outputs({outputs.begin(), outputs.end()});
    return result;
  }

  /// What is left of the epoch. @return false if a request has stopped it
  bool run_epoch() {
    const std::size_t epoch = steps_ / num_steps();
    const std::vector<std::size_t> order = batches_.shuffled(split_.training, epoch);
    for (std::size_t step = steps_ % num_steps(); step < num_steps(); ++step) {
      const auto start = std::chrono::steady_clock::now();
      const auto batch = std::span(order).subspan(step * options_.batch, options_.batch);
      student_.freeze(num_frozen());
      const PartResult sum = look_at(batch, epoch, step);
      check_numbers(sum);
      const auto tally = sum.tally.as<double>();
      const bool stops = tally[2] > 0;
      if (stops || file_.is_due()) save();
      if (stops) return false;
      unfinished_.rate = options_.optimizer.rate * schedule_.factor(steps_);
      learn(sum, unfinished_.rate);
      ++steps_;
      unfinished_.loss += tally[0] / static_cast<double>(num_steps());
      unfinished_.agreement += tally[1] / static_cast<double>(num_steps() * options_.batch);
      const auto elapsed = std::chrono::steady_clock::now() - start;
      unfinished_.seconds += std::chrono::duration<double>(elapsed).count();
      show(step + 1);
    }
    end_epoch();
    return true;
  }

  void end_epoch() {
    if (!split_.held_out.empty()) {
      unfinished_.held_out =
          right_share(split_.held_out, part_samples(), options_.devices,
                      [this](std::span<const std::size_t> samples) { return num_right(samples); });
    }
    epochs_.push_back(std::exchange(unfinished_, {}));
    if (best_epoch(epochs_) == epochs_.size() - 1) best_ = copy_of(student_.state());
    record();
  }

  std::int64_t num_right(std::span<const std::size_t> samples) {
    const at::NoGradGuard no_gradient;
    const at::Tensor labels = batches_.labels(samples);
    const at::Tensor wanted =
        labels.defined() ? labels : taught(teachers_->answer(samples, std::nullopt)).argmax(1);
    const Student::Pass pass = student_.forward(batches_.plain_inputs(samples), PassKind::kApply);
    return pass.outputs.back().argmax(1).eq(wanted).sum().item<std::int64_t>();
  }

  /// What the teachers say together; undefined if there are none.
  [[nodiscard]] at::Tensor taught(const Answers& answers) const {
    if (!answers.scores.defined()) return {};
    return mean_answer(answers.scores, options_.loss.temperature);
  }

  void check_numbers(const PartResult& sum) const {
    if (!std::isfinite(sum.tally.as<double>()[0])) fail_diverged("the loss is");
    for (const spmd::Array& gradient : sum.gradients) {
      if (!std::ranges::all_of(gradient.as<float>(), [](float x) { return std::isfinite(x); })) {
        fail_diverged("a gradient is");
      }
    }
  }

  /// @param steps  done in this epoch
  void show(std::size_t steps) const {
    if (!options_.progress) return;
    const double share = static_cast<double>(steps) / static_cast<double>(num_steps());
    std::ostringstream text;
    text << "epoch " << epochs_.size() + 1 << " of " << options_.epochs << std::fixed << ", loss "
         << std::setprecision(4) << unfinished_.loss / share << ", accuracy "
         << std::setprecision(2) << 100 * unfinished_.agreement / share << " %";
    if (!epochs_.empty() && epochs_.back().held_out) {
      text << ", held out " << 100 * *epochs_.back().held_out << " %";
    }
    options_.progress(
        static_cast<double>(steps_) / static_cast<double>(options_.epochs * num_steps()),
        text.str());
  }

  PartResult look_at(std::span<const std::size_t> batch, std::size_t epoch, std::size_t step) {
    const auto lane = [&] {
      const std::size_t part = spmd::axis_index(kAxis);
      return run_part(batch.subspan(part * part_samples(), part_samples()), epoch,
                      seed_of(options_.seed, {epoch, step, part}));
    };
    return spmd::spread_sum(
        lane, {.axis_name = kAxis, .axis_size = options_.parts, .devices = options_.devices})();
  }

  /// The first layers, more of them with every step from freeze_from on.
  [[nodiscard]] std::size_t num_frozen() const {
    const double done =
        static_cast<double>(steps_) / static_cast<double>(options_.epochs * num_steps());
    if (done < options_.freeze_from || options_.freeze_from == 1) return 0;
    const double share = (done - options_.freeze_from) / (1 - options_.freeze_from);
    return static_cast<std::size_t>(share * static_cast<double>(student_.num_layers()));
  }

  void learn(const PartResult& sum, double rate) {
    const ThreadLimit limit(1);  // as in run_part()
    std::vector<at::Tensor> gradients(student_.parameters().size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (student_.is_frozen(i)) continue;
      gradients[i] = to_tensor<float>(sum.gradients[i], at::kFloat);
    }
    optimizer_.step(gradients, rate);
    student_.update(to_statistics(sum.statistics));
  }

  PartResult run_part(std::span<const std::size_t> samples, std::size_t epoch, std::uint64_t seed) {
    // How a library divides its sums among threads must not decide their bits.
    const ThreadLimit limit(1);
    const std::vector<at::Tensor> inputs = batches_.inputs(samples, epoch);
    const at::Tensor labels = batches_.labels(samples);
    const Answers answers = teachers_->empty() ? Answers() : teachers_->answer(samples, epoch);
    const at::Tensor taught = this->taught(answers);
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
    // The first rank has the first part.
    const bool stops =
        spmd::axis_index(kAxis) == 0 && options_.stop_requested && options_.stop_requested();
    result.tally = spmd::Array::of({loss.item<double>(), agreed, stops ? 1.0 : 0.0});
    return result;
  }

  TrainOptions options_;
  std::function<Identity()> identity_;
  CheckpointFile file_;
  const ir::Graph* original_;
  std::size_t num_outputs_;  ///< that the student came with; features and scores follow
  FeatureValues features_;
  Student student_;
  Batches batches_;
  Split split_;
  Schedule schedule_;
  std::optional<Teachers> teachers_;
  Optimizer optimizer_;

  std::size_t steps_ = 0;            ///< done
  std::vector<EpochResult> epochs_;  ///< that are over
  EpochResult unfinished_;           ///< sums of the one that is not
  State best_;                       ///< of the student, where samples are held out
};

}  // namespace

TrainResult train(const ir::Graph& student, const ir::Graph* original,
                  const std::vector<ir::Graph>& teachers, const formats::Dataset& data,
                  const StudentOptions& student_options, const TrainOptions& options) {
  return Training(student, original, teachers, data, student_options, options).run();
}

}  // namespace halftone::train

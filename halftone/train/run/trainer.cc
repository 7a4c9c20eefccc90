// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iomanip>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/train/graph/torch_memory.h"
#include "halftone/train/learn/learner.h"
#include "halftone/train/run/check_training.h"
#include "halftone/train/run/checkpoint_file.h"
#include "halftone/train/run/run_settings.h"
#include "halftone/train/run/schedule.h"
#include "halftone/train/samples/validation_split.h"

namespace halftone::train {
namespace {

constexpr std::size_t kMeasuredBatches = 8;

// Prefixes of tensor names in a checkpoint, by owner.
constexpr const char* kStudent = "student/";
constexpr const char* kOptimizer = "optimizer/";
constexpr const char* kBest = "best/";

/// Checked options, with devices.
LearnOptions checked(LearnOptions options, const data::Dataset& data, std::size_t num_teachers) {
  check_training(options, data, num_teachers);
  if (options.devices.empty()) options.devices = spmd::Devices::for_threads();
  return options;
}

/// One run. The constructor's arguments must outlive it.
class Training {
 public:
  Training(const ir::Graph& student, const ir::Graph* original, const TrainingData& data,
           const StudentOptions& student_options, const LearnOptions& options)
      : options_(checked(options, data.samples, data.teachers.size())),
        settings_([&student, original, &data, &student_options, &options] {
          return run_settings(student, original, data, student_options, options);
        }),
        file_(options_.checkpoint, options_.devices),
        original_(original),
        learner_(student, original, data, student_options, options_),
        has_teachers_(!data.teachers.empty()),
        split_(split_samples(data.samples.size(), options.validation_split, options.seed)),
        schedule_(options.optimizer.schedule, options.epochs, num_steps()) {
    const bool are_used = options_.loss.label_weight > 0 || !split_.validation.empty();
    if (are_used && learner_.takes_labels()) check_labels(data.samples);
  }

  TrainedGraph run() {
    start();
    bool interrupted = false;
    while (!interrupted && !is_over()) interrupted = !run_epoch();
    if (!interrupted) save();
    return result(interrupted);
  }

 private:
  [[nodiscard]] std::size_t num_steps() const { return split_.training.size() / options_.batch; }

  void check_labels(const data::Dataset& data) const {
    const std::int64_t classes = learner_.scores().back();
    for (std::size_t sample = 0; data.has_labels() && sample < data.size(); ++sample) {
      const std::int64_t label = data.label(sample);
      if (label >= 0 && label < classes) continue;
      fail(ErrorKind::kFormat, data.name() + ": label of sample " + std::to_string(sample) +
                                   ": expected 0 to " + std::to_string(classes - 1) + ", found " +
                                   std::to_string(label));
    }
  }

  /// Resumes from the checkpoint, or writes the first one: a run fails here if it cannot be saved.
  void start() {
    const std::optional<Checkpoint> found = file_.open(settings_);
    if (!found) {
      const std::vector<std::size_t> order = learner_.batches().shuffled(split_.training, 0);
      const std::size_t count = std::min(num_steps(), kMeasuredBatches) * options_.batch;
      learner_.start(std::span(order).first(count));
      return save();
    }
    with_context(options_.checkpoint.path, [&] {
      learner_.set_student_state(without_prefix(kStudent, found->tensors));
      learner_.set_optimizer_state(without_prefix(kOptimizer, found->tensors));
    });
    best_ = without_prefix(kBest, found->tensors);
    steps_ = found->steps;
    epochs_ = found->epochs;
    unfinished_ = found->unfinished;
  }

  /// Writes a checkpoint; fails if a parameter is not finite.
  void save() {
    Checkpoint checkpoint{{}, steps_, epochs_, unfinished_, {}};
    const auto add = [&](const char* prefix, const NamedTensors& state) {
      const NamedTensors named = with_prefix(prefix, in_memory(state));
      checkpoint.tensors.insert(checkpoint.tensors.end(), named.begin(), named.end());
    };
    add(kStudent, learner_.student_state());
    add(kOptimizer, learner_.optimizer_state());
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
        file_.is_kept() ? "; " + options_.checkpoint.path + " keeps the last checkpoint" : "";
    fail(ErrorKind::kUnsupported, what + " NaN or infinite in step " +
                                      std::to_string(steps_ % num_steps() + 1) + " of epoch " +
                                      std::to_string(steps_ / num_steps() + 1) +
                                      "; a smaller learning rate may help" + kept);
  }

  [[nodiscard]] bool is_over() const {
    if (steps_ >= options_.epochs * num_steps()) return true;
    const std::optional<std::size_t> best = best_epoch(epochs_);
    return best && options_.patience > 0 && epochs_.size() - 1 - *best >= options_.patience;
  }

  [[nodiscard]] TrainedGraph result(bool interrupted) {
    TrainedGraph result;
    result.epochs = epochs_;
    result.interrupted = interrupted;
    result.best = best_epoch(epochs_);
    if (result.best) learner_.set_student_state(best_);
    if (original_ != nullptr) {
      result.original = learner_.student().with_learned_numbers(*original_);
    }
    result.graph = learner_.graph();
    return result;
  }

  /// Runs the remaining steps of the epoch. @return false if it was stopped by request
  bool run_epoch() {
    const std::size_t epoch = steps_ / num_steps();
    const std::vector<std::size_t> order = learner_.batches().shuffled(split_.training, epoch);
    for (std::size_t step = steps_ % num_steps(); step < num_steps(); ++step) {
      const auto start = std::chrono::steady_clock::now();
      const auto batch = std::span(order).subspan(step * options_.batch, options_.batch);
      learner_.freeze(num_frozen());
      const BatchResult result = learner_.look_at(batch, epoch, step);
      check_numbers(result);
      if (result.stops || file_.is_due()) save();
      if (result.stops) return false;
      unfinished_.rate = options_.optimizer.rate * schedule_.factor(steps_);
      learner_.learn(result, unfinished_.rate);
      ++steps_;
      unfinished_.loss += result.loss() / static_cast<double>(num_steps());
      unfinished_.agreement +=
          result.num_agreed() / static_cast<double>(num_steps() * options_.batch);
      const auto elapsed = std::chrono::steady_clock::now() - start;
      unfinished_.seconds += std::chrono::duration<double>(elapsed).count();
      show(step + 1);
    }
    end_epoch();
    return true;
  }

  void end_epoch() {
    if (!split_.validation.empty()) {
      unfinished_.validation_accuracy = learner_.validation_accuracy(split_.validation);
    }
    epochs_.push_back(std::exchange(unfinished_, {}));
    if (best_epoch(epochs_) == epochs_.size() - 1) best_ = copy_of(learner_.student_state());
    record();
  }

  void check_numbers(const BatchResult& result) const {
    if (!std::isfinite(result.loss())) fail_diverged("the loss is");
    for (const spmd::Array& gradient : result.gradients) {
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
         << std::setprecision(4) << unfinished_.loss / share
         << (has_teachers_ ? ", agreement " : ", accuracy ") << std::setprecision(2)
         << 100 * unfinished_.agreement / share << " %";
    if (!epochs_.empty() && epochs_.back().validation_accuracy) {
      text << ", validation " << 100 * *epochs_.back().validation_accuracy << " %";
    }
    options_.progress(
        static_cast<double>(steps_) / static_cast<double>(options_.epochs * num_steps()),
        text.str());
  }

  /// Number of frozen layers; it grows with the steps from freeze_from on.
  [[nodiscard]] std::size_t num_frozen() const {
    const double done =
        static_cast<double>(steps_) / static_cast<double>(options_.epochs * num_steps());
    if (done < options_.freeze_from || options_.freeze_from == 1) return 0;
    const double share = (done - options_.freeze_from) / (1 - options_.freeze_from);
    return static_cast<std::size_t>(share * static_cast<double>(learner_.num_layers()));
  }

  LearnOptions options_;
  /// Lanes run in parallel; libtorch must neither split sums nor start threads between them.
  ThreadLimit limit_{1};
  std::function<RunSettings()> settings_;
  CheckpointFile file_;
  const ir::Graph* original_;
  Learner learner_;
  bool has_teachers_;
  Split split_;
  Schedule schedule_;

  std::size_t steps_ = 0;            ///< done
  std::vector<EpochResult> epochs_;  ///< finished ones
  EpochResult unfinished_;           ///< sums of the current epoch
  NamedTensors best_;                ///< the student's state after its best epoch
};

}  // namespace

TrainedGraph train(const ir::Graph& student, const ir::Graph* original, const TrainingData& data,
                   const StudentOptions& student_options, const LearnOptions& options) {
  prepare_torch(options.devices.empty() ? static_cast<std::size_t>(num_threads())
                                        : options.devices.num_local());
  return with_torch_memory(
      [&] { return Training(student, original, data, student_options, options).run(); });
}

}  // namespace halftone::train

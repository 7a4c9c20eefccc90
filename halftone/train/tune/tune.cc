// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/tune.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/train/graph/torch_memory.h"
#include "halftone/train/run/checkpoint_file.h"
#include "halftone/train/run/schedule.h"

namespace halftone::train {
namespace {

// Prefixes and names of tensors in a checkpoint.
constexpr const char* kNumbers = "numbers/";
constexpr const char* kAdam = "optimizer/";
constexpr const char* kBestNumbers = "best/";
constexpr const char* kBestAdam = "best optimizer/";
constexpr const char* kSteps = "steps";
constexpr const char* kEvaluations = "evaluations";
constexpr const char* kSecond = "second";

/// The learning rate at a divergence of 1 nat.
constexpr double kRate = 3e-3;

void check_tuning(const TuneSamples& samples, const TuneOptions& options) {
  const auto require_from = [](const char* what, std::size_t least, std::size_t found) {
    if (found >= least) return;
    fail(ErrorKind::kUsage, std::string(what) + ": expected " + std::to_string(least) +
                                " or more, found " + std::to_string(found));
  };
  require_from("steps of tuning", 1, options.steps);
  require_from("samples of a step", 1, options.batch);
  require_from("evaluations", 1, options.evaluations);
  require_from("samples to tune to", 1, samples.fit.size());
  require_from("held-out samples", 1, samples.held_out.size());
  constexpr double kMaxRate = 1e30;  // within float32, times what it multiplies
  const double rate = options.rate.value_or(kRate);
  const double basis_rate = rate * options.basis_rate;
  if (!(rate > 0 && rate <= kMaxRate && basis_rate >= 0 && basis_rate <= kMaxRate)) {
    fail(ErrorKind::kUsage, "learning rates of tuning: expected numbers above 0 up to 1e30");
  }
}

ScheduleOptions warm_cosine(const TuneOptions& options) {
  ScheduleOptions result;
  result.warm_up = options.warm_up;
  return result;
}

at::Tensor rows_of_numbers(const std::vector<double>& numbers, std::int64_t columns) {
  return at::tensor(numbers, at::TensorOptions(at::kDouble)).reshape({-1, columns});
}

/// The history of a run as tensors of its checkpoint, and back.
at::Tensor steps_to_tensor(const std::vector<TuneStep>& steps) {
  std::vector<double> numbers;
  for (const TuneStep& each : steps) {
    numbers.insert(numbers.end(), {each.loss, each.rate, each.seconds});
  }
  return rows_of_numbers(numbers, 3);
}
std::vector<TuneStep> steps_from(const at::Tensor& tensor) {
  const at::Tensor rows = tensor.to(at::kDouble).reshape({-1, 3}).contiguous();
  std::vector<TuneStep> steps;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const double* numbers = rows.data_ptr<double>() + 3 * i;
    steps.push_back({numbers[0], numbers[1], numbers[2]});
  }
  return steps;
}
at::Tensor evaluations_to_tensor(const std::vector<TuneEvaluation>& evaluations) {
  std::vector<double> numbers;
  for (const TuneEvaluation& each : evaluations) {
    numbers.insert(numbers.end(), {static_cast<double>(each.steps), each.divergence});
  }
  return rows_of_numbers(numbers, 2);
}
std::vector<TuneEvaluation> evaluations_from(const at::Tensor& tensor) {
  const at::Tensor rows = tensor.to(at::kDouble).reshape({-1, 2}).contiguous();
  std::vector<TuneEvaluation> evaluations;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const double* numbers = rows.data_ptr<double>() + 2 * i;
    evaluations.push_back({static_cast<std::size_t>(numbers[0]), numbers[1]});
  }
  return evaluations;
}

/// @throws Error kFormat if there is no such tensor
const at::Tensor& tensor_named(const NamedTensors& tensors, const char* name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  if (found != tensors.end()) return found->tensor;
  fail(ErrorKind::kFormat, "'" + std::string(name) + "': expected a tensor, found none");
}

/// One run. The constructor's arguments must outlive it.
class TuningRun {
 public:
  TuningRun(const TuneNetworks& networks, const TuneSamples& samples, const TuneOptions& options)
      : samples_(samples),
        options_(options),
        settings_(
            [&networks, &samples, &options] { return tune_settings(networks, samples, options); }),
        file_(options.checkpoint, spmd::Devices::for_threads()),
        tuner_(networks.teacher, networks.student, networks.tuned, options),
        schedule_(warm_cosine(options), 1, options.steps) {}

  TuneResult run() {
    start();
    while (!is_over()) {
      if (options_.stop_requested && options_.stop_requested()) {
        save();
        return result(true);
      }
      if (file_.is_due()) save();
      step();
      if (is_evaluated()) evaluate();
      report();
    }
    if (history_.evaluations.back().steps != history_.steps.size()) evaluate();
    save();
    return result(false);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// Resumes from the checkpoint, or writes the first one: a run fails here if it cannot be saved.
  void start() {
    const std::optional<Checkpoint> found = file_.open(settings_);
    if (found) return with_context(options_.checkpoint.path, [&] { resume(*found); });
    tell(0, "evaluating");
    second_ = second_divergence();
    evaluate();
    save();
    report();
  }
  void resume(const Checkpoint& found) {
    tuner_.set_numbers_state(without_prefix(kNumbers, found.tensors));
    tuner_.set_optimizer_state(without_prefix(kAdam, found.tensors));
    keep_as_best();
    assign(best_numbers_, without_prefix(kBestNumbers, found.tensors));
    assign(best_adam_, without_prefix(kBestAdam, found.tensors));
    history_.steps = steps_from(tensor_named(found.tensors, kSteps));
    history_.evaluations = evaluations_from(tensor_named(found.tensors, kEvaluations));
    second_ = tensor_named(found.tensors, kSecond).item<double>();
    if (history_.evaluations.empty()) fail(ErrorKind::kFormat, "expected an evaluation");
  }
  void save() {
    if (!file_.is_kept()) return;
    Checkpoint checkpoint{{}, history_.steps.size(), {}, {}, {}};
    const auto add = [&](const char* prefix, const NamedTensors& state) {
      const NamedTensors named = with_prefix(prefix, state);
      checkpoint.tensors.insert(checkpoint.tensors.end(), named.begin(), named.end());
    };
    add(kNumbers, tuner_.numbers_state());
    add(kAdam, tuner_.optimizer_state());
    add(kBestNumbers, best_numbers_);
    add(kBestAdam, best_adam_);
    add("", {{kSteps, steps_to_tensor(history_.steps)},
             {kEvaluations, evaluations_to_tensor(history_.evaluations)},
             {kSecond, at::full({}, second_, at::kDouble)}});
    file_.save(std::move(checkpoint));
  }

  [[nodiscard]] bool is_over() const {
    if (history_.steps.size() >= options_.steps) return true;
    return options_.minutes && seconds_since(begin_) >= 60 * *options_.minutes;
  }
  /// The samples of a step: the next ones of all passes.
  [[nodiscard]] std::vector<TokenSample> samples_of(std::size_t step) const {
    std::vector<TokenSample> batch;
    const std::size_t count = samples_.fit.size();
    std::vector<std::size_t> order;
    for (std::size_t i = step * options_.batch; i < (step + 1) * options_.batch; ++i) {
      if (order.empty() || i % count == 0) order = order_of(i / count);
      batch.push_back(samples_.fit[order[i % count]]);
    }
    return batch;
  }
  [[nodiscard]] std::vector<std::size_t> order_of(std::size_t pass) const {
    std::vector<std::size_t> order(samples_.fit.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random random(options_.seed ^ (0x9e3779b97f4a7c15U * (pass + 1)));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
  }
  void step() {
    const Clock::time_point begin = Clock::now();
    const std::size_t index = history_.steps.size();
    tell(static_cast<double>(index) / static_cast<double>(options_.steps),
         "step " + std::to_string(index + 1));
    const double rate = full_rate() * schedule_.factor(index);
    const Tuner::Look look = tuner_.look_at(samples_of(index));
    tuner_.learn(look, rate);
    if (!std::isfinite(look.loss) || !is_finite(tuner_.numbers_state())) {
      fail(ErrorKind::kUnsupported, "loss or a parameter is NaN or infinite in step " +
                                        std::to_string(index + 1) +
                                        "; a smaller learning rate may help");
    }
    history_.steps.push_back({look.loss, rate, seconds_since(begin)});
  }
  /// Before the factor of the schedule. Near the teacher the divergence is a square of what the
  /// numbers lack, which the rate without a wish is in proportion to.
  [[nodiscard]] double full_rate() const {
    const auto& evaluations = history_.evaluations;
    double least = evaluations[0].divergence;
    double rate = options_.rate.value_or(kRate * std::sqrt(std::clamp(least, 0.0, 1.0)));
    for (const TuneEvaluation& each : evaluations) {
      if (each.divergence > least) rate /= 2;
      least = std::min(least, each.divergence);
    }
    return rate;
  }
  /// Whether the number of steps done is a multiple of the interval between evaluations.
  [[nodiscard]] bool is_evaluated() const {
    const std::size_t done = history_.steps.size();
    const auto share = [&](std::size_t steps) {
      return steps * options_.evaluations / options_.steps;
    };
    return share(done) != share(done - 1);
  }
  void evaluate() {
    if (taught_.empty()) taught_ = tuner_.taught(samples_.held_out);
    const double held_out = tuner_.divergence(samples_.held_out, taught_);
    history_.evaluations.push_back({history_.steps.size(), held_out});
    if (best() + 1 == history_.evaluations.size()) {
      keep_as_best();
    } else if (held_out > history_.evaluations[best()].divergence) {
      tuner_.set_numbers_state(best_numbers_);
      tuner_.set_optimizer_state(best_adam_);
    }
  }
  void keep_as_best() {
    best_numbers_ = copy_of(tuner_.numbers_state());
    best_adam_ = copy_of(tuner_.optimizer_state());
  }
  /// 0 without a second text.
  [[nodiscard]] double second_divergence() const {
    if (samples_.second.empty()) return 0;
    return tuner_.divergence(samples_.second, tuner_.taught(samples_.second));
  }
  /// Of the least divergence, the first of equal ones.
  [[nodiscard]] std::size_t best() const {
    const auto least =
        std::ranges::min_element(history_.evaluations, {}, &TuneEvaluation::divergence);
    return static_cast<std::size_t>(least - history_.evaluations.begin());
  }
  void report() const {
    if (options_.record) options_.record(history_);
  }
  void tell(double fraction, const std::string& activity) const {
    if (options_.progress) options_.progress(fraction, activity);
  }
  TuneResult result(bool is_interrupted) {
    TuneResult result;
    result.history = history_;
    result.is_interrupted = is_interrupted;
    if (is_interrupted) return result;
    tuner_.set_numbers_state(best_numbers_);
    result.best = best();
    result.second_before = second_;
    result.second_after = second_divergence();
    const TunedNumbers& numbers = tuner_.numbers();
    result.constants = numbers.constants();
    result.num_scales = numbers.num_scales();
    result.num_vector_elements = numbers.num_vector_elements();
    result.bases = numbers.bases();
    return result;
  }

  const TuneSamples& samples_;
  const TuneOptions& options_;
  std::function<RunSettings()> settings_;
  CheckpointFile file_;
  Tuner tuner_;
  Schedule schedule_;
  NamedTensors best_numbers_;  ///< after the best evaluation, as best_adam_
  NamedTensors best_adam_;
  Tuner::Tensors taught_;  ///< of the held-out samples
  TuneHistory history_;
  double second_ = 0;  ///< divergence of the second text before the first step
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

TuneResult tune(const TuneNetworks& networks, const TuneSamples& samples,
                const TuneOptions& options) {
  check_tuning(samples, options);
  prepare_torch(static_cast<std::size_t>(num_threads()));
  return with_torch_memory([&] { return TuningRun(networks, samples, options).run(); });
}

}  // namespace halftone::train

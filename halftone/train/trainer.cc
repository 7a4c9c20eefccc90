// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/trainer.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/optim.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/feed.h"
#include "halftone/runtime/session.h"
#include "halftone/spmd/collectives.h"
#include "halftone/spmd/map.h"

namespace halftone::train {
namespace {

constexpr const char* kAxis = "part";

/// A tensor's numbers as an array that shares them.
template <typename T>
spmd::Array to_array(const at::Tensor& tensor) {
  auto owner = std::make_shared<at::Tensor>(tensor.detach().contiguous());
  const std::span<const T> numbers(owner->data_ptr<T>(), static_cast<std::size_t>(owner->numel()));
  return spmd::Array::wrap<T>({tensor.numel()}, numbers, owner);
}

template <typename T>
at::Tensor to_tensor(const spmd::Array& array, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(array.as<T>().data()), sizes, at::TensorOptions(type))
      .clone();
}

/// The images that are augmented: those of the graph's input, or of the data where the graph takes
/// them flat.
ir::Shape image_shape(const ir::Shape& input, const formats::SampleShape& sample) {
  if (input.rank() != 2) return input;
  std::vector<ir::Dim> dims{ir::kBatch};
  if (sample.extents.size() == 2) dims.push_back(1);
  for (const std::size_t extent : sample.extents) dims.push_back(static_cast<ir::Dim>(extent));
  return ir::Shape(std::move(dims));
}

/// What a part of a batch comes to; a tree of arrays, so that parts add up.
struct PartResult {
  std::vector<spmd::Array> gradients;
  std::vector<spmd::Array> counts;
  std::vector<spmd::Array> sums;
  spmd::Array tally;  ///< float64 [2] loss, answers that agree

  static auto members(auto& self) {
    return std::tie(self.gradients, self.counts, self.sums, self.tally);
  }
};

/// Scores of a float network for one part of a batch; several threads may ask at once.
class Teacher {
 public:
  Teacher(const ir::Graph& graph, std::size_t samples) {
    ir::Graph scores = with_scores(graph);
    scores.set_outputs({scores.outputs().back()});
    scores.remove_unused_nodes();
    plan_ = runtime::make_plan(std::move(scores), {.batch = samples});
  }

  [[nodiscard]] std::int64_t classes() const {
    return plan_->graph().value(plan_->graph().outputs()[0]).type.shape[1];
  }

  at::Tensor operator()(const std::vector<at::Tensor>& inputs) {
    std::unique_ptr<runtime::Session> session = take();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto numbers = session->input_as<float>(i);
      std::copy_n(inputs[i].data_ptr<float>(), numbers.size(), numbers.begin());
    }
    session->run();
    const ir::Tensor scores = session->output_tensor(0);
    at::Tensor result = at::empty({inputs[0].size(0), classes()}, at::TensorOptions(at::kFloat));
    std::ranges::copy(scores.as<float>(), result.data_ptr<float>());
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(session));
    return result;
  }

 private:
  std::unique_ptr<runtime::Session> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<runtime::Session>(plan_);
    std::unique_ptr<runtime::Session> session = std::move(free_.back());
    free_.pop_back();
    return session;
  }

  std::shared_ptr<const runtime::Plan> plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<runtime::Session>> free_;
};

class Training {
 public:
  Training(const ir::Graph& student, const ir::Graph* original, const ir::Graph* teacher,
           const formats::Dataset& data, const StudentOptions& student_options,
           const TrainOptions& options)
      : data_(data),
        options_(options),
        outputs_(student.outputs().begin(), student.outputs().end()),
        student_(with_scores(student), original, student_options),
        feed_(compress::make_feed(data, student)),
        augment_(options.augment, image_shape(input_shape(0), data.inputs()[0].shape)) {
    if (teacher != nullptr) teacher_ = std::make_unique<Teacher>(*teacher, part_samples());
    check();
    if (options_.devices.empty()) options_.devices = spmd::Devices::for_threads();
    make_optimizer();
  }

  TrainResult run() {
    TrainResult result;
    for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch) {
      result.epochs.push_back(run_epoch(epoch));
    }
    result.graph = student_.graph();
    result.graph.set_outputs({result.graph.outputs().begin(), result.graph.outputs().end() - 1});
    return result;
  }

 private:
  [[nodiscard]] std::size_t part_samples() const { return options_.batch / options_.parts; }
  [[nodiscard]] std::size_t num_steps() const { return data_.size() / options_.batch; }
  [[nodiscard]] const ir::Shape& input_shape(std::size_t i) const {
    return student_.source().value(student_.source().inputs()[i]).type.shape;
  }

  void check() const {
    const auto usage = [](const std::string& text) { fail(ErrorKind::kUsage, text); };
    if (options_.parts == 0 || options_.batch == 0 || options_.batch % options_.parts != 0) {
      usage("batch: expected a multiple of the " + std::to_string(options_.parts) +
            " parts, found " + std::to_string(options_.batch));
    }
    if (data_.size() < options_.batch) {
      usage(data_.name() + ": expected at least the " + std::to_string(options_.batch) +
            " samples of a batch, found " + std::to_string(data_.size()));
    }
    const double lambda = options_.loss.label_weight;
    if (!(lambda >= 0 && lambda <= 1)) {
      usage("label weight: expected 0 to 1, found " + std::to_string(lambda));
    }
    if (!(options_.loss.temperature > 0) || !std::isfinite(options_.loss.temperature)) {
      usage("temperature: expected a number above 0, found " +
            std::to_string(options_.loss.temperature));
    }
    if (lambda > 0 && !data_.has_labels()) {
      usage(data_.name() + ": has no labels, which a label weight above 0 needs");
    }
    if (lambda < 1 && teacher_ == nullptr) usage("a label weight below 1 needs a teacher");
    const std::int64_t classes =
        student_.source().value(student_.source().outputs().back()).type.shape[1];
    if (teacher_ != nullptr && teacher_->classes() != classes) {
      fail(ErrorKind::kShape, "the teacher tells " + std::to_string(teacher_->classes()) +
                                  " classes apart, the student " + std::to_string(classes));
    }
  }

  void make_optimizer() {
    const OptimizerOptions& wanted = options_.optimizer;
    if (wanted.kind == OptimizerKind::kSgd) {
      optimizer_ = std::make_unique<torch::optim::SGD>(student_.parameters(),
                                                       torch::optim::SGDOptions(wanted.rate)
                                                           .momentum(wanted.momentum)
                                                           .nesterov(wanted.momentum > 0)
                                                           .weight_decay(wanted.weight_decay));
    } else {
      optimizer_ = std::make_unique<torch::optim::AdamW>(
          student_.parameters(),
          torch::optim::AdamWOptions(wanted.rate).weight_decay(wanted.weight_decay));
    }
  }

  void set_rate(double rate) {
    for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
      if (options_.optimizer.kind == OptimizerKind::kSgd) {
        static_cast<torch::optim::SGDOptions&>(group.options()).lr(rate);
      } else {
        static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
      }
    }
  }

  /// Fisher-Yates, of an epoch's own random numbers.
  [[nodiscard]] std::vector<std::size_t> shuffled(std::size_t epoch) const {
    std::vector<std::size_t> order(data_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random random(options_.seed ^ (0x9e3779b97f4a7c15U * (epoch + 1)));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
  }

  EpochResult run_epoch(std::size_t epoch) {
    const std::vector<std::size_t> order = shuffled(epoch);
    EpochResult result;
    for (std::size_t step = 0; step < num_steps(); ++step) {
      const double done = static_cast<double>(epoch * num_steps() + step) /
                          static_cast<double>(options_.epochs * num_steps());
      set_rate(options_.optimizer.rate * (1 + std::cos(std::numbers::pi * done)) / 2);
      const auto batch = std::span(order).subspan(step * options_.batch, options_.batch);
      const spmd::Array learned = learn(batch, epoch).tally;
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

  PartResult learn(std::span<const std::size_t> batch, std::size_t epoch) {
    const auto lane = [&] {
      const std::size_t part = spmd::axis_index(kAxis);
      return run_part(batch.subspan(part * part_samples(), part_samples()), epoch);
    };
    PartResult sum = spmd::spread_sum(
        lane, {.axis_name = kAxis, .axis_size = options_.parts, .devices = options_.devices})();
    const ThreadLimit limit(1);  // as in run_part()
    std::vector<at::Tensor> parameters = student_.parameters();
    double square = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() =
          to_tensor<float>(sum.gradients[i], parameters[i].sizes(), at::kFloat);
      square += parameters[i].grad().square().sum().item<double>();
    }
    const double most = options_.optimizer.most_gradient;
    if (most > 0 && square > most * most) {
      for (at::Tensor& p : parameters) p.mutable_grad().mul_(most / std::sqrt(square));
    }
    optimizer_->step();
    std::vector<LevelSums> sums;
    for (std::size_t i = 0; i < sum.counts.size(); ++i) {
      const std::array<std::int64_t, 2> sizes{1, static_cast<std::int64_t>(sum.counts[i].size())};
      sums.push_back({to_tensor<double>(sum.counts[i], sizes, at::kDouble),
                      to_tensor<double>(sum.sums[i], sizes, at::kDouble)});
    }
    student_.update(sums);
    return sum;
  }

  std::vector<at::Tensor> inputs_of(std::span<const std::size_t> samples, std::size_t epoch) {
    std::vector<at::Tensor> inputs;
    for (std::size_t i = 0; i < student_.source().inputs().size(); ++i) {
      const std::span<const ir::Dim> dims = input_shape(i).dims();
      std::vector<std::int64_t> sizes(dims.begin(), dims.end());
      sizes[0] = static_cast<std::int64_t>(samples.size());
      at::Tensor x = at::empty(sizes, at::TensorOptions(at::kFloat));
      const std::size_t each = static_cast<std::size_t>(x.numel()) / samples.size();
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const std::span<float> sample(x.data_ptr<float>() + s * each, each);
        feed_(samples[s], 1, i, sample);
        if (i != 0) continue;
        Random random(options_.seed +
                      0x2545f4914f6cdd1dU * (epoch * data_.size() + samples[s] + 1));
        augment_.apply(sample, random);
      }
      inputs.push_back(std::move(x));
    }
    return inputs;
  }

  [[nodiscard]] at::Tensor labels_of(std::span<const std::size_t> samples) const {
    if (!data_.has_labels()) return {};
    at::Tensor labels =
        at::empty({static_cast<std::int64_t>(samples.size())}, at::TensorOptions(at::kLong));
    for (std::size_t s = 0; s < samples.size(); ++s) {
      labels.data_ptr<std::int64_t>()[s] = data_.label(samples[s]);
    }
    return labels;
  }

  PartResult run_part(std::span<const std::size_t> samples, std::size_t epoch) {
    // How a library divides its sums among threads must not decide their bits.
    const ThreadLimit limit(1);
    const std::vector<at::Tensor> inputs = inputs_of(samples, epoch);
    const at::Tensor labels = labels_of(samples);
    const at::Tensor taught = teacher_ == nullptr ? at::Tensor() : (*teacher_)(inputs);
    const Student::Pass pass = student_.forward(inputs, true);
    const at::Tensor& scores = pass.outputs.back();
    const at::Tensor loss = distillation_loss(scores, taught, labels, options_.loss) /
                            static_cast<double>(options_.batch);
    const auto gradients = torch::autograd::grad({loss}, student_.parameters(), {}, c10::nullopt,
                                                 false, /*allow_unused=*/true);
    PartResult result;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor& p = student_.parameters()[i];
      result.gradients.push_back(
          to_array<float>(gradients[i].defined() ? gradients[i] : at::zeros_like(p)));
    }
    for (const LevelSums& sums : pass.sums) {
      result.counts.push_back(to_array<double>(sums.counts));
      result.sums.push_back(to_array<double>(sums.sums));
    }
    const at::Tensor wanted = taught.defined() ? taught.argmax(1) : labels;
    const double agreed = scores.detach().argmax(1).eq(wanted).sum().item<double>();
    result.tally = spmd::Array::of({loss.item<double>(), agreed});
    return result;
  }

  const formats::Dataset& data_;
  TrainOptions options_;
  std::vector<ir::ValueId> outputs_;
  Student student_;
  runtime::FillInput feed_;
  Augment augment_;
  std::unique_ptr<Teacher> teacher_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace

TrainResult train(const ir::Graph& student, const ir::Graph* original, const ir::Graph* teacher,
                  const formats::Dataset& data, const StudentOptions& student_options,
                  const TrainOptions& options) {
  return Training(student, original, teacher, data, student_options, options).run();
}

}  // namespace halftone::train

// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/tuner.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <algorithm>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/train/graph/torch_memory.h"
#include "halftone/train/learn/distillation_loss.h"

namespace halftone::train {
namespace {

/// Rows whose logits are in memory at once. A constant: it changes sums.
constexpr std::int64_t kRowsOfLogits = 128;

std::vector<OpenGraph> opened_parts(const SequenceParts& parts,
                                    const std::function<bool(const std::string&)>& is_tuned) {
  std::vector<OpenGraph> opened;
  for (const ir::Graph& part : parts) opened.emplace_back(part, is_tuned);
  return opened;
}

OptimizerOptions adam(const TuneOptions& options) {
  OptimizerOptions result;
  result.level_rate = options.basis_rate;
  return result;
}

at::Tensor ids_of(const TokenSample& sample) {
  return at::tensor(sample, at::TensorOptions(at::kInt)).unsqueeze(0);
}

/// Calls body(i) on several threads, on each of which libtorch computes alone.
void for_each_sample(std::size_t count, const std::function<void(std::size_t)>& body) {
  parallel_for(count, [&](std::size_t i) {
    const ThreadLimit limit(1);
    with_torch_memory([&] { body(i); });
  });
}

/// Views of the same memory, of which those that are tuned have gradients.
std::vector<at::Tensor> leaves_of(const OpenGraph& part, const std::vector<at::Tensor>& weights,
                                  std::vector<at::Tensor>& leaves) {
  std::vector<at::Tensor> views;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    views.push_back(weights[i].detach());
    if (!part.weights()[i].is_tuned) continue;
    leaves.push_back(views.back().requires_grad_());
  }
  return views;
}

}  // namespace

Tuner::Tuner(const SequenceParts& teacher, const SequenceParts& student,
             const NamedConstants& tuned, const TuneOptions& options)
    : teacher_(opened_parts(teacher, [](const std::string&) { return false; })),
      numbers_(tuned),
      student_(
          opened_parts(student, [&](const std::string& name) { return numbers_.contains(name); })),
      optimizer_(numbers_.parameters(), numbers_.num_bases(), adam(options)) {}

Tuner::Tensors Tuner::weights_of(const OpenGraph& part) const {
  Tensors weights;
  for (const OpenWeight& weight : part.weights()) {
    weights.push_back(weight.is_tuned ? numbers_.weights(weight.name)
                                      : numbers_of(*weight.constant));
  }
  return weights;
}

Tuner::Tensors Tuner::rows_of(const std::vector<OpenGraph>& parts,
                              std::span<const TokenSample> samples,
                              const std::function<void(const Tensors& rows)>& visit) const {
  Tensors rows;
  for (const TokenSample& sample : samples) rows.push_back(ids_of(sample));
  for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
    if (visit) visit(rows);
    const Tensors weights = weights_of(parts[p]);
    Tensors next(rows.size());
    for_each_sample(rows.size(), [&](std::size_t i) {
      const at::NoGradGuard no_gradient;
      next[i] = parts[p].forward(rows[i], weights);
    });
    rows = std::move(next);
  }
  return rows;
}

/// The loss is the sum over the tokens of the sample.
Tuner::SampleResult Tuner::compare(const Tensors& weights, const Tensors& teacher_weights,
                                   const at::Tensor& rows, const at::Tensor& teacher_rows,
                                   bool has_gradients) const {
  constexpr LossOptions kDivergence{.label_weight = 0, .temperature = 1};
  const auto pieces = [](const at::Tensor& x) {  // [n, 1, d] each
    return x.reshape({-1, 1, x.size(-1)}).split(kRowsOfLogits);
  };
  const Tensors own = pieces(rows);
  const Tensors taught = pieces(teacher_rows);
  SampleResult result;
  Tensors row_gradients;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const at::Tensor answers = [&] {
      const at::NoGradGuard no_gradient;
      const at::Tensor logits = teacher_.back().forward(taught[i], teacher_weights);
      return at::log_softmax(logits.squeeze(1), 1);
    }();
    const at::AutoGradMode mode(has_gradients);
    const at::Tensor x = own[i].detach().requires_grad_(has_gradients);
    Tensors leaves = {x};
    const Tensors views = leaves_of(student_.back(), weights, leaves);
    const at::Tensor logits = student_.back().forward(x, views).squeeze(1);
    const at::Tensor loss = distillation_loss(logits, answers, {}, kDivergence);
    result.loss += loss.item<double>();
    if (!has_gradients) continue;
    Tensors gradients = torch::autograd::grad({loss}, leaves);
    row_gradients.push_back(gradients[0]);
    gradients.erase(gradients.begin());
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      if (i == 0) {
        result.weights.push_back(gradients[w]);
      } else {
        result.weights[w].add_(gradients[w]);
      }
    }
  }
  if (has_gradients) result.rows = at::cat(row_gradients).reshape(rows.sizes());
  return result;
}

Tuner::SampleResult Tuner::pass_back(const OpenGraph& part, const Tensors& weights,
                                     const at::Tensor& rows, const at::Tensor& gradient) const {
  const at::AutoGradMode mode(true);
  SampleResult result;
  Tensors leaves;
  at::Tensor x = rows.detach();
  if (part.has_float_input()) leaves.push_back(x.requires_grad_());
  const Tensors views = leaves_of(part, weights, leaves);
  if (leaves.empty()) return result;
  result.weights = torch::autograd::grad({part.forward(x, views)}, leaves, {gradient});
  if (!part.has_float_input()) return result;
  result.rows = result.weights[0];
  result.weights.erase(result.weights.begin());
  return result;
}

std::vector<Tuner::SampleResult> Tuner::for_samples(
    const OpenGraph& part, std::size_t count,
    const std::function<SampleResult(std::size_t)>& work) {
  std::vector<SampleResult> results(count);
  Tensors sums;
  // As many samples as threads at once, which bounds the gradients of weights in memory.
  const auto wave = static_cast<std::size_t>(num_threads());
  for (std::size_t first = 0; first < count; first += wave) {
    const std::size_t size = std::min(wave, count - first);
    for_each_sample(size, [&](std::size_t i) { results[first + i] = work(first + i); });
    for (std::size_t i = first; i < first + size; ++i) {
      const Tensors gradients = std::exchange(results[i].weights, {});
      for (std::size_t w = 0; w < gradients.size(); ++w) {
        if (i == 0) {
          sums.push_back(gradients[w]);
        } else {
          sums[w].add_(gradients[w]);
        }
      }
    }
  }
  std::size_t next = 0;
  for (const OpenWeight& weight : part.weights()) {
    if (weight.is_tuned) numbers_.add_gradient(weight.name, sums[next++]);
  }
  return results;
}

Tuner::Tensors Tuner::taught(std::span<const TokenSample> samples) const {
  return rows_of(teacher_, samples, nullptr);
}

double Tuner::divergence(std::span<const TokenSample> samples, const Tensors& taught) const {
  const Tensors rows = rows_of(student_, samples, nullptr);
  const Tensors teacher_weights = weights_of(teacher_.back());
  const Tensors weights = weights_of(student_.back());
  std::vector<double> losses(samples.size());
  for_each_sample(samples.size(), [&](std::size_t i) {
    losses[i] = compare(weights, teacher_weights, rows[i], taught[i], false).loss;
  });
  double sum = 0;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    sum += losses[i];
    tokens += samples[i].size();
  }
  return sum / static_cast<double>(std::max<std::size_t>(tokens, 1));
}

Tuner::Look Tuner::look_at(std::span<const TokenSample> samples) {
  std::vector<Tensors> rows;  // that the parts read, but for the last
  const Tensors taught = this->taught(samples);
  const Tensors last =
      rows_of(student_, samples, [&](const Tensors& each) { rows.push_back(each); });
  std::vector<SampleResult> results;
  {
    const Tensors teacher_weights = weights_of(teacher_.back());
    const Tensors weights = weights_of(student_.back());
    results = for_samples(student_.back(), samples.size(), [&](std::size_t i) {
      return compare(weights, teacher_weights, last[i], taught[i], true);
    });
  }
  const auto tokens = static_cast<double>(samples.size() * samples[0].size());
  Look look;
  for (const SampleResult& each : results) look.loss += each.loss / tokens;
  for (std::size_t p = student_.size() - 1; p-- > 0;) {
    const Tensors weights = weights_of(student_[p]);
    results = for_samples(student_[p], samples.size(), [&](std::size_t i) {
      return pass_back(student_[p], weights, rows[p][i], results[i].rows);
    });
  }
  look.gradients = numbers_.take_gradients();
  for (at::Tensor& gradient : look.gradients) {
    if (gradient.defined()) gradient = gradient / tokens;
  }
  return look;
}

void Tuner::learn(const Look& look, double rate) {
  const ThreadLimit limit(1);  // libtorch would split sums by threads
  optimizer_.step(look.gradients, rate);
  numbers_.update();
}

}  // namespace halftone::train

// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/optimizer.h"

#include <ATen/ATen.h>
#include <torch/optim.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace halftone::train {
namespace {

/// libtorch's key for the state of a parameter.
std::string key_of(const at::Tensor& parameter) {
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
}

}  // namespace

Optimizer::Optimizer(std::vector<at::Tensor> parameters, std::size_t num_levels,
                     const OptimizerOptions& options)
    : options_(options), parameters_(std::move(parameters)) {
  if (options_.kind == OptimizerKind::kSgd) {
    optimizer_ = std::make_unique<torch::optim::SGD>(groups(num_levels),
                                                     torch::optim::SGDOptions(options_.rate));
  } else {
    optimizer_ = std::make_unique<torch::optim::AdamW>(groups(num_levels));
  }
  for (const at::Tensor& parameter : parameters_) add_state(parameter);
}

/// Other parameters, then levels. Levels do not decay: a smaller basis is not a simpler one.
std::vector<torch::optim::OptimizerParamGroup> Optimizer::groups(std::size_t num_levels) const {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  const auto add = [&](auto first, auto last, double weight_decay) {
    const std::vector<at::Tensor> members(first, last);
    if (options_.kind == OptimizerKind::kSgd) {
      groups.emplace_back(members, std::make_unique<torch::optim::SGDOptions>(
                                       torch::optim::SGDOptions(options_.rate)
                                           .momentum(options_.momentum)
                                           .nesterov(options_.momentum > 0)
                                           .weight_decay(weight_decay)));
    } else {
      groups.emplace_back(
          members, std::make_unique<torch::optim::AdamWOptions>(
                       torch::optim::AdamWOptions(options_.rate).weight_decay(weight_decay)));
    }
  };
  const auto levels = parameters_.end() - static_cast<std::ptrdiff_t>(num_levels);
  add(parameters_.begin(), levels, options_.weight_decay);
  add(levels, parameters_.end(), 0);
  return groups;
}

/// Adds the state that libtorch would create in the first step, so that it can be saved and set.
void Optimizer::add_state(const at::Tensor& parameter) {
  const at::Tensor zeros = at::zeros_like(parameter.detach());
  std::unique_ptr<torch::optim::OptimizerParamState> state;
  if (options_.kind == OptimizerKind::kSgd) {
    auto own = std::make_unique<torch::optim::SGDParamState>();
    own->momentum_buffer(zeros);
    state = std::move(own);
  } else {
    auto own = std::make_unique<torch::optim::AdamWParamState>();
    own->exp_avg(zeros);
    own->exp_avg_sq(zeros.clone());
    state = std::move(own);
  }
  optimizer_->state()[key_of(parameter)] = std::move(state);
}

NamedTensors Optimizer::state() const {
  NamedTensors result;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const torch::optim::OptimizerParamState& state =
        *optimizer_->state().at(key_of(parameters_[i]));
    const std::string number = std::to_string(i);
    if (options_.kind == OptimizerKind::kSgd) {
      const auto& own = static_cast<const torch::optim::SGDParamState&>(state);
      result.push_back({"momentum/" + number, own.momentum_buffer()});
    } else {
      const auto& own = static_cast<const torch::optim::AdamWParamState&>(state);
      result.push_back({"mean/" + number, own.exp_avg()});
      result.push_back({"square/" + number, own.exp_avg_sq()});
      result.push_back({"steps/" + number, at::full({1}, own.step(), at::kLong)});
    }
  }
  return result;
}

void Optimizer::set_state(const NamedTensors& state) {
  const NamedTensors mine = this->state();
  assign(mine, state);
  if (options_.kind == OptimizerKind::kSgd) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string name = "steps/" + std::to_string(i);
    const auto steps = std::ranges::find(mine, name, &NamedTensor::name);
    auto& own =
        static_cast<torch::optim::AdamWParamState&>(*optimizer_->state()[key_of(parameters_[i])]);
    own.step(steps->tensor.item<std::int64_t>());
  }
}

Optimizer::~Optimizer() = default;

void Optimizer::set_rate(double rate) {
  for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
    group.options().set_lr(rate);
    rate *= options_.level_rate;  // for the groups after the first
  }
}

void Optimizer::step(const std::vector<at::Tensor>& gradients, double rate) {
  double square = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].mutable_grad() = gradients[i];
    if (gradients[i].defined()) square += gradients[i].square().sum().item<double>();
  }
  const double most = options_.clip_grad_norm;
  if (most > 0 && square > most * most) {
    for (at::Tensor& p : parameters_) {
      if (p.grad().defined()) p.mutable_grad().mul_(most / std::sqrt(square));
    }
  }
  set_rate(rate);
  optimizer_->step();
}

}  // namespace halftone::train

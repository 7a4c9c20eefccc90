// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/optimizer.h"

#include <ATen/ATen.h>
#include <torch/optim.h>

#include <cmath>
#include <utility>

namespace halftone::train {

Optimizer::Optimizer(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
    : options_(options), parameters_(std::move(parameters)) {
  if (options_.kind == OptimizerKind::kSgd) {
    optimizer_ =
        std::make_unique<torch::optim::SGD>(parameters_, torch::optim::SGDOptions(options_.rate)
                                                             .momentum(options_.momentum)
                                                             .nesterov(options_.momentum > 0)
                                                             .weight_decay(options_.weight_decay));
  } else {
    optimizer_ = std::make_unique<torch::optim::AdamW>(
        parameters_, torch::optim::AdamWOptions(options_.rate).weight_decay(options_.weight_decay));
  }
}

Optimizer::~Optimizer() = default;

void Optimizer::set_rate(double rate) {
  for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
    if (options_.kind == OptimizerKind::kSgd) {
      static_cast<torch::optim::SGDOptions&>(group.options()).lr(rate);
    } else {
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
    }
  }
}

void Optimizer::step(const std::vector<at::Tensor>& gradients, double rate) {
  double square = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].mutable_grad() = gradients[i];
    square += gradients[i].square().sum().item<double>();
  }
  const double most = options_.most_gradient;
  if (most > 0 && square > most * most) {
    for (at::Tensor& p : parameters_) p.mutable_grad().mul_(most / std::sqrt(square));
  }
  set_rate(rate);
  optimizer_->step();
}

}  // namespace halftone::train

// SPDX-License-Identifier: Apache-2.0
// Updates parameters from their gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/options/train_options.h"

namespace torch::optim {
class Optimizer;
class OptimizerParamGroup;
}  // namespace torch::optim

namespace halftone::train {

/// libtorch's SGD with Nesterov momentum, or AdamW (Loshchilov, Hutter, ICLR 2019,
/// arXiv:1711.05101).
class Optimizer {
 public:
  /// @param num_levels  number of level parameters; they come last
  Optimizer(std::vector<at::Tensor> parameters, std::size_t num_levels,
            const OptimizerOptions& options);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Clips the norm of the gradients and updates the parameters.
  /// @param gradients  one per parameter; an undefined one leaves its parameter unchanged
  void step(const std::vector<at::Tensor>& gradients, double rate);

  /// The optimizer's state; shares its memory, except for step counts, which are copies.
  [[nodiscard]] NamedTensors state() const;
  /// @throws Error kFormat as assign()
  void set_state(const NamedTensors& state);

 private:
  [[nodiscard]] std::vector<torch::optim::OptimizerParamGroup> groups(std::size_t num_levels) const;
  void add_state(const at::Tensor& parameter);
  void set_rate(double rate);

  OptimizerOptions options_;
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace halftone::train

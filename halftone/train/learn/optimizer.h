// SPDX-License-Identifier: Apache-2.0
// How parameters follow their gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/run/schedule.h"

namespace torch::optim {
class Optimizer;
class OptimizerParamGroup;
}  // namespace torch::optim

namespace halftone::train {

enum class OptimizerKind { kSgd, kAdam };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double rate = 1e-3;         ///< what the schedule multiplies
  double level_rate = 1;      ///< of what levels are made of, as a share of the rate
  double momentum = 0.9;      ///< of SGD, Nesterov's
  double weight_decay = 0;    ///< decoupled with Adam (AdamW); not of levels
  double clip_grad_norm = 0;  ///< the gradient's norm is cut to this; 0: never
  ScheduleOptions schedule{};
};

/// SGD with Nesterov's momentum, or AdamW (Loshchilov, Hutter, ICLR 2019, arXiv:1711.05101), of
/// libtorch.
class Optimizer {
 public:
  /// @param num_levels  how many of the parameters, the last ones, levels are made of
  Optimizer(std::vector<at::Tensor> parameters, std::size_t num_levels,
            const OptimizerOptions& options);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Moves the parameters by their gradients, whose norm it cuts first.
  /// @param gradients  one per parameter; one that is undefined leaves its parameter as it is
  void step(const std::vector<at::Tensor>& gradients, double rate);

  /// What it remembers of the gradients so far: shares the memory. A count of steps is a copy.
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

// SPDX-License-Identifier: Apache-2.0
// Choices of a training by their names.
#pragma once

#include <string>

#include "halftone/api/training.h"

namespace halftone {

/// Choices as people write them.
struct TrainingNames {
  std::string optimizer = "adam";                ///< or "sgd"
  std::string schedule = "cosine";               ///< "cosine", "step" or "constant"
  std::string loss = "auto";                     ///< "auto", "kl" or "mse"
  std::string levels = "gradient";               ///< or "average": LevelRule::kMovingAverage
  std::string precision = "fp32";                ///< of weights and activations
  std::string gradient_format = "fp32";          ///< of gradients
  std::string gradient_rounding = "stochastic";  ///< or "nearest"
  std::string device = "cpu";                    ///< or "cuda"
};

/// Sets what the names say.
/// @throws Error kUsage "optimizer: expected one of adam, sgd, found 'X'"; as
///         numerics::parse_number_format()
void set_named(const TrainingNames& names, TrainingSettings& settings);

}  // namespace halftone

// SPDX-License-Identifier: Apache-2.0
// Options of tuning. As all headers of this folder, without libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/train/options/train_options.h"
#include "halftone/types/language_distill.hpp"

namespace halftone::train {

using TuneStep = v0::LanguageDistillStep;
using TuneEvaluation = v0::LanguageDistillEvaluation;

/// Steps and evaluations of a run so far.
struct TuneHistory {
  std::vector<TuneStep> steps;
  std::vector<TuneEvaluation> evaluations;  ///< the first before all steps
};

/// How the scales, gains and bases of a network learn while its codes stay. Adam moves logarithms
/// of scales by about the learning rate in a step; gains, biases and matrices of bases by about the
/// learning rate times their root mean square.
struct TuneOptions {
  std::size_t steps = v0::LanguageDistillOptions{}.steps;
  std::size_t batch = v0::LanguageDistillOptions{}.batch;  ///< samples of a step
  /// Learning rate, which falls to 0 along a cosine. Without one it is 0.003 sqrt(D), at most
  /// 0.003, for the divergence D of the held-out samples before the first step in nats per token.
  std::optional<double> rate{};
  /// Learning rate of the matrices of vector bases, relative to `rate`.
  double basis_rate = v0::LanguageDistillOptions{}.basis_rate_factor;
  double warm_up = 0.1;             ///< share of the steps in which the learning rate rises from 0
  std::size_t evaluations = 8;      ///< after steps, at equal intervals; the best state is kept
  std::optional<double> minutes{};  ///< the run ends after this time, with the best state so far
  std::uint64_t seed = 0;           ///< of the order of the samples
  CheckpointOptions checkpoint{};
  /// Whether to stop; called once in each step.
  std::function<bool()> stop_requested = nullptr;
  /// Called after each step and evaluation.
  std::function<void(const TuneHistory& history)> record = nullptr;
  ProgressSink progress = nullptr;
};

}  // namespace halftone::train

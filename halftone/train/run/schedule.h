// SPDX-License-Identifier: Apache-2.0
// Learning rate schedules.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "halftone/types/train.hpp"

namespace halftone::train {

enum class ScheduleKind {
  kCosine,    ///< (1 + cos(pi t)) / 2
  kStep,      ///< decay^(number of milestones <= t)
  kConstant,  ///< 1
};

std::string_view to_string(ScheduleKind kind);  ///< "cosine", "step", "constant"

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kCosine;
  /// Of kStep: rising shares of the steps, in (0, 1).
  std::vector<double> milestones = v0::TrainOptions{}.milestones;
  double decay = v0::TrainOptions{}.schedule_decay;   ///< of kStep, in (0, 1]
  double warm_up = v0::TrainOptions{}.warmup_epochs;  ///< epochs of linear increase from 0
};

/// The factor on the learning rate in each step.
///
/// During the first W steps (warm_up epochs) it is (step + 1) / W. After them t goes from 0 to 1
/// over the remaining steps.
/// Source: Loshchilov, Hutter, SGDR, ICLR 2017 (arXiv:1608.03983), equation 5, for the cosine;
/// Goyal et al. 2017 (arXiv:1706.02677), section 2.2, for the warm-up.
class Schedule {
 public:
  /// @throws Error kUsage if milestones do not increase within (0, 1), the decay is not in (0, 1],
  ///         or warm_up is not in [0, epochs)
  Schedule(const ScheduleOptions& options, std::size_t epochs, std::size_t steps_per_epoch);

  /// @param step  counted over all epochs, from 0
  [[nodiscard]] double factor(std::size_t step) const;

 private:
  ScheduleOptions options_;
  std::size_t num_steps_;
  std::size_t num_warm_up_steps_;
};

}  // namespace halftone::train

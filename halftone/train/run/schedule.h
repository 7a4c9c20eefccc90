// SPDX-License-Identifier: Apache-2.0
// How the learning rate changes while a network is trained.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace halftone::train {

enum class ScheduleKind {
  kCosine,    ///< (1 + cos(pi t)) / 2
  kStep,      ///< decay^(number of milestones <= t)
  kConstant,  ///< 1
};

std::string_view to_string(ScheduleKind kind);  ///< "cosine", "step", "constant"

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kCosine;
  std::vector<double> milestones{0.5, 0.75};  ///< of kStep: rising shares of the steps, in (0, 1)
  double decay = 0.1;                         ///< of kStep, in (0, 1]
  double warm_up = 0;                         ///< epochs in which the rate rises from 0, linearly
};

/// What the learning rate is multiplied with in each step.
///
/// In the first W steps, warm_up epochs of them, (step + 1) / W. After them t goes from 0 to 1 over
/// the rest.
/// Source: Loshchilov, Hutter, SGDR, ICLR 2017 (arXiv:1608.03983), equation 5, for the cosine;
/// Goyal et al. 2017 (arXiv:1706.02677), section 2.2, for the rise.
class Schedule {
 public:
  /// @throws Error kUsage if milestones do not rise within (0, 1), the decay is not in (0, 1], or
  ///         warm_up is not in [0, epochs)
  Schedule(const ScheduleOptions& options, std::size_t epochs, std::size_t steps_per_epoch);

  /// @param step  of all epochs, from 0
  [[nodiscard]] double factor(std::size_t step) const;

 private:
  ScheduleOptions options_;
  std::size_t num_steps_;
  std::size_t num_warm_up_steps_;
};

}  // namespace halftone::train

// SPDX-License-Identifier: Apache-2.0
// Turns noise, which adds up over layers, into a drop of accuracy.
#pragma once

#include <vector>

#include "halftone/compress/sensitivity/loss_meter.h"

namespace halftone::accel {

/// The drop that goes with a noise: the monotone function closest to all measured pairs, linear
/// between them. It starts at no drop without noise and is proportional to noise beyond what was
/// measured, up to 1.
/// Source: pool adjacent violators; Ayer et al., An empirical distribution function for sampling
/// with incomplete information, Ann. Math. Statist. 26 (1955).
class DropCurve {
 public:
  /// @param measured  noise: losses of LossKind::kError
  explicit DropCurve(std::vector<compress::LossAndDrop> measured);
  [[nodiscard]] double drop(double noise) const;

 private:
  std::vector<compress::LossAndDrop> points_;  ///< ascending in both
};

}  // namespace halftone::accel

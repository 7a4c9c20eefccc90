// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/distortion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/error.h"

namespace halftone::numerics {

void Distortion::add(std::span<const float> reference, std::span<const float> approximation) {
  HALFTONE_ASSERT(reference.size() == approximation.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double x = reference[i];
    const double error = x - static_cast<double>(approximation[i]);
    signal_ += x * x;
    noise_ += error * error;
    max_abs_error_ = std::max(max_abs_error_, std::abs(error));
  }
  count_ += reference.size();
}

void Distortion::add_finite(std::span<const float> reference,
                            std::span<const float> approximation) {
  HALFTONE_ASSERT(reference.size() == approximation.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (!std::isfinite(reference[i]) || !std::isfinite(approximation[i])) continue;
    add(reference.subspan(i, 1), approximation.subspan(i, 1));
  }
}

double Distortion::mse() const { return count_ == 0 ? 0 : noise_ / static_cast<double>(count_); }

double Distortion::sqnr_db() const {
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal_ / noise_);
}

}  // namespace halftone::numerics

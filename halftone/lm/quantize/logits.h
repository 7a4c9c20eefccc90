// SPDX-License-Identifier: Apache-2.0
// Logits of a model that may be broken.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "halftone/base/error.h"

namespace halftone::lm {

/// The largest logit, which exp() of the others is taken relative to.
/// @throws Error kFormat that names a token if its logit is not finite
inline double largest_logit(std::span<const float> logits) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      fail(ErrorKind::kFormat, "logit of token " + std::to_string(i) +
                                   ": expected a finite number; the model is broken");
    }
    largest = std::max(largest, static_cast<double>(logits[i]));
  }
  return largest;
}

}  // namespace halftone::lm

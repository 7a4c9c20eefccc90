// SPDX-License-Identifier: Apache-2.0
// Rules of a description from measured operations. Private to this folder.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halftone/accel/measure/measure.h"
#include "halftone/base/relative_fit.h"

namespace halftone::accel {

/// To what the channels of a tap and the inner extent are rounded up.
struct Rounding {
  std::size_t channels = 1;
  std::size_t inner = 1;
};

using Samples = std::vector<const Sample*>;

/// The coefficients of describe(): once, for products or operations, for outputs, for bytes of the
/// weights.
RelativeFit<4> fit_samples(const Samples& samples, const Rounding& rounding);
OperatorRule rule_of(const std::string& op, const RelativeFit<4>& fitted);
/// How well a description says what these took.
std::string comparison_of(const Accelerator& chip, std::span<const Sample> samples);

}  // namespace halftone::accel

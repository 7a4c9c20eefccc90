// SPDX-License-Identifier: Apache-2.0
// Types of plain numbers: of matrices that are written without a fit.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/lm/quantize/weight_types.h"

namespace halftone::lm {

/// "F32", "F16" or "BF16"; null for another name.
const WeightType* plain_type(std::string_view name);

/// Numbers rounded to a plain type, ties to even.
std::vector<std::byte> plain_bytes(std::span<const float> values, const WeightType& type);

}  // namespace halftone::lm

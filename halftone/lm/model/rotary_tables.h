// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/tensor.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// cos and sin of the angles of rotary positions, [context, rotary_dims / 2] each, computed in
/// double precision, times `rotary_factor` except those of `window_rotary` where they differ.
struct RotaryTables {
  ir::Tensor cos;
  ir::Tensor sin;
};
/// @param angles   of the description: `rotary` or `window_rotary`
/// @param context  tokens of a sequence at most, which choose long divisors and the dynamic base
RotaryTables rotary_tables(const Description& description, const RotaryAngles& angles,
                           std::size_t context);

/// What YaRN divides angles by (Peng et al., 2023, equations 17 to 23). A pair i turns
///
///     turns(i) = original_context / (2 pi base^(2 i / dims))
///
/// times. With the pairs where this is fast_turns and slow_turns, low and high, rounded down and
/// up if it truncates,
///
///     ramp(i) = clamp((i - low) / (high - low), 0, 1)
///     1 / divisor(i) = ramp(i) / factor + 1 - ramp(i)
///
/// @return [dims / 2]
std::vector<double> yarn_divisors(const Yarn& yarn, double base, std::size_t dims,
                                  std::size_t original_context);

}  // namespace halftone::lm

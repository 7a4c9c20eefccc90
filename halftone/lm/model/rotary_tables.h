// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halftone/ir/tensor.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// cos and sin of the angles of rotary positions times `rotary_factor`, [context, rotary_dims / 2]
/// each, computed in double precision.
struct RotaryTables {
  ir::Tensor cos;
  ir::Tensor sin;
};
/// @param angles  of the description: `rotary` or `window_rotary`
RotaryTables rotary_tables(const Description& description, const RotaryAngles& angles,
                           std::size_t context);

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Scales of a block and row in fewer bits than float32, exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/kernels/groups/group_layout.h"

namespace halftone::kernels {

/// How scales are stored, with the factor of those that a tensor multiplies.
struct ScaleForm {
  GroupScales how = GroupScales::kHalf;
  float factor = 1;
};

/// Bytes of the scales of a block with so many groups, for all 64 rows.
std::size_t group_scale_bytes(GroupScales how, std::size_t groups);

/// Stores the scales of row `row` of a strip.
/// @param to  group_scale_bytes()
/// @return    whether the stored bytes give all scales exactly
bool store_group_scales(const ScaleForm& storage, std::span<const float> scales, std::size_t row,
                        std::uint8_t* to);

/// The scales that store_group_scales() stored.
void load_group_scales(const ScaleForm& storage, const std::uint8_t* from, std::size_t row,
                       std::span<float> scales);

}  // namespace halftone::kernels

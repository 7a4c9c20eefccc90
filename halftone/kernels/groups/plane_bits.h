// SPDX-License-Identifier: Apache-2.0
// How the bits of a code are divided among planes, see PackedGroups.
#pragma once

#include "halftone/kernels/groups/group_layout.h"
#include "halftone/kernels/groups/vector_tables.h"

namespace halftone::kernels {

/// Planes of a code: the bits of the low one, and of the one above it or 0; then planes of one
/// sign.
struct PlaneBits {
  unsigned low = 0;
  unsigned high = 0;
  unsigned signs = 0;
};

inline PlaneBits plane_bits(const GroupCodes& format) {
  if (format.basis != nullptr) {
    const CodePlanes bits{format.basis->signs()};
    const auto signs = static_cast<unsigned>(bits.sign_planes());
    return bits.field_bits() == 6 ? PlaneBits{4, 2, signs} : PlaneBits{8, 0, signs};
  }
  switch (format.levels.bits) {
    case 3:
      return {2, 1};
    case 5:
      return {4, 1};
    case 6:
      return {4, 2};
    default:
      return {static_cast<unsigned>(format.levels.bits), 0};
  }
}

}  // namespace halftone::kernels

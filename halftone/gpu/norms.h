// SPDX-License-Identifier: Apache-2.0
// Norms of rows with what follows them, in one launch.
#pragma once

#include "halftone/gpu/groups.h"
#include "halftone/gpu/rows.h"
#include "halftone/gpu/tails.h"

namespace halftone::gpu {

/// The programs of both launches.
std::string norm_text(bool subtracts_mean);
std::string encoding_norm_text(bool subtracts_mean, const kernels::GroupExtents& extents);

/// normalize(), with tails, which have no function.
Launch normalize(Programs& programs, const NormShape& shape, const Buffer& x, const Buffer& y,
                 const Tails& tails);
struct NormOutputs {
  const Buffer& y;
  const GroupInputs& encoded;  ///< of y
};
/// The same, which also encodes y.
Launch normalize_and_encode(Programs& programs, const NormShape& shape, const Buffer& x,
                            const NormOutputs& to, const Tails& tails);

}  // namespace halftone::gpu

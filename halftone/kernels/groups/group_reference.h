// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/base/view.h"
#include "halftone/kernels/groups/encoded_rows.h"
#include "halftone/kernels/groups/packed_groups.h"

namespace halftone::kernels {

/// Reference implementation of multiply_groups() in plain loops over what `unpack` gives.
/// @param format  scales as `unpack` gives them, however they would be stored
/// @param y       [x.rows(), rows of the weights]
void multiply_groups_reference(const GroupCodes& format, const PackedGroups::Unpack& unpack,
                               const EncodedRows& x, MatrixView<float> y);

}  // namespace halftone::kernels

// SPDX-License-Identifier: Apache-2.0
// Products of encoded activations with weights in groups.
#pragma once

#include "halftone/base/view.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/groups/encoded_rows.h"
#include "halftone/kernels/groups/packed_groups.h"

namespace halftone::kernels {

/// y[r, o] = the product of activation row r and weight row o. Over the pieces p of the inputs in
/// ascending order, with the group g of the piece, the exact integer I = sum_i level_i code_i, and
/// all else in float32, without contraction:
///
///     acc = 0;  for each piece p:  acc += (scale_g x_scale_p) I
///                                  acc += offset_g x_share_p     if the weights have offsets
///     y = acc
///
/// The result is the same, bit for bit, on every target, for any number of rows, and however
/// strips are divided among callers.
/// @param x       for the extents of the weights
/// @param strips  which strips of 64 weight rows to compute, within w.num_strips()
/// @param y       [x.rows(), w.rows()]; only the columns of `strips` are written
void multiply_groups(const PackedGroups& w, const EncodedRows& x, BlockRange strips,
                     MatrixView<float> y) noexcept;

/// Reference implementation of multiply_groups() in plain loops over what `unpack` gives.
/// @param format  scales as `unpack` gives them, however they would be stored
/// @param y       [x.rows(), rows of the weights]
void multiply_groups_reference(const GroupCodes& format, const PackedGroups::Unpack& unpack,
                               const EncodedRows& x, MatrixView<float> y);

}  // namespace halftone::kernels

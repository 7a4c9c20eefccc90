// SPDX-License-Identifier: Apache-2.0
// Ways to compute Unary, Binary, Where, Softmax and Encode.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// Unary by the vector functions of halftone/kernels.
Verdict judge_unary_vector(const NodeContext& context);
Kernel create_unary_vector(const NodeContext& context);
/// Unary by oneDNN.
Verdict judge_unary_onednn(const NodeContext& context);
Kernel create_unary_onednn(const NodeContext& context);

/// Unary by the C++ library, number after number: what the others lack or have at less precision
/// (oneDNN's logarithm is 6e-5 off near 1).
Verdict judge_unary_plain(const NodeContext& context);
Kernel create_unary_plain(const NodeContext& context);

/// Binary of float32, row by row.
Verdict judge_binary_rows(const NodeContext& context);
Kernel create_binary_rows(const NodeContext& context);
/// Sums, differences and products of int32.
Verdict judge_binary_integers(const NodeContext& context);
Kernel create_binary_integers(const NodeContext& context);

/// Where, row by row.
Verdict judge_where(const NodeContext& context);
Kernel create_where(const NodeContext& context);

/// Softmax over the last axis, beta 1, by halftone/kernels.
Verdict judge_softmax_rows(const NodeContext& context);
Kernel create_softmax_rows(const NodeContext& context);

/// Encode to bit planes.
Verdict judge_encode_planes(const NodeContext& context);
/// Encode to levels as 8-bit integers.
Verdict judge_encode_int8(const NodeContext& context);
Kernel create_encode(const NodeContext& context);

}  // namespace halftone::runtime

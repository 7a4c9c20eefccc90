// SPDX-License-Identifier: Apache-2.0
// Ways to compute Conv, ConvTranspose and Pool.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// Dense or decoded numbers and constant weights, one to three spatial axes: oneDNN.
Verdict judge_conv_float(const NodeContext& context);
Kernel create_conv_float(const NodeContext& context);
Verdict judge_conv_transpose_float(const NodeContext& context);
Kernel create_conv_transpose_float(const NodeContext& context);

/// One to three spatial axes: oneDNN.
Verdict judge_pool(const NodeContext& context);
Kernel create_pool(const NodeContext& context);

}  // namespace halftone::runtime

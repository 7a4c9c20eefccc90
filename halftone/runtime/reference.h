// SPDX-License-Identifier: Apache-2.0
// What works for every node: the operator's definition, or nothing at all.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// ir::evaluate_operator() on copies of the inputs. Every run allocates.
Verdict judge_reference(const NodeContext& context);
Kernel create_reference(const NodeContext& context);

/// Reshape: the output is the memory of the input.
Verdict judge_alias(const NodeContext& context);
Kernel create_alias(const NodeContext& context);

}  // namespace halftone::runtime

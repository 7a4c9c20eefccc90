// SPDX-License-Identifier: Apache-2.0
// Implementations that accept every node of their operator.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// ir::evaluate_operator() on copies of the inputs. Every run allocates.
extern const Implementation kReference;
/// Reshape: the output shares the memory of the input.
extern const Implementation kAlias;

}  // namespace halftone::runtime

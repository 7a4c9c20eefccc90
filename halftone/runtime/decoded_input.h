// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The kernel of a node that reads input 0 as dense float32, for an input that may be codes: these
/// are decoded in every run.
Kernel with_decoded_input(const NodeContext& context, Kernel kernel);

}  // namespace halftone::runtime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// "the weights are decoded; ", or what else of a float32 layer has codes; empty if nothing has.
std::string_view decoded_text(const NodeContext& context);

/// Wraps the kernel of a node that reads input 0 as dense float32: if the input is codes, every run
/// decodes them first.
Kernel with_decoded_input(const NodeContext& context, Kernel kernel);

}  // namespace halftone::runtime

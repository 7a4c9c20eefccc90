// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Checks that a network read back from the bytes of a file is the network that was written: the
/// same inputs and outputs, layers with the same weights and, if that takes few operations, the
/// same function on random inputs. Formats round differently, so the function may differ a little.
/// @throws Error kUnsupported with the first difference
void check_read_back(const ir::Graph& written, const ir::Graph& found);

}  // namespace halftone::formats

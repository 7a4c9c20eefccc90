// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Checks that a network read back from the bytes of a file is the network that was written: the
/// same inputs and outputs, layers with the same weights and, if that takes few operations, the
/// same function on random inputs, of up to 256: beyond the levels of inputs with codes. Formats
/// round differently, so the function may differ a little.
/// @param source   the network
/// @param written  the form of it that the format holds
/// @throws Error kUnsupported with the first difference
void check_read_back(const ir::Graph& source, const ir::Graph& written, const ir::Graph& found);

}  // namespace halftone::formats

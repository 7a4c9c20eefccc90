// SPDX-License-Identifier: Apache-2.0
// Codes from 0 to 255 as codes from -128 to 127, the only ones that C kernels have.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::export_c {

/// The same function of the same inputs and outputs, in which uint8 values are int8 values less 128
/// as far as operators allow: zero points, tables and bounds are shifted. Inputs, outputs and
/// states stay as they are: a Lookup shifts them.
ir::Graph with_signed_codes(const ir::Graph& graph);

/// Whether a Lookup adds or subtracts 128.
bool shifts_codes(const ir::Lookup& op);

}  // namespace halftone::export_c

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Finds Gelu where an exporter wrote it operator by operator, as all do for ONNX below operator
/// set 20.
///
///        x                                     x
///       / \                                    |
///      |   Div by sqrt 2              ->      Gelu
///      |   |                                   |
///      |   Erf                                 y
///      |   |
///      |   Add 1
///       \ /
///       Mul
///        |
///       Mul by 1/2
///        |
///        y
///
/// and the approximate one, x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. What counts is the
/// formula, not how sums and products are ordered or constants divided among them; constants may be
/// off by 1e-4 of their value. Nothing else may read a value in between.
/// @return whether the graph changed
bool fuse_gelu(ir::Graph& graph);

}  // namespace halftone::passes

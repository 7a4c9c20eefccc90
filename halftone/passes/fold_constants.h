// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::passes {

struct FoldOptions {
  /// Whether integers behind a DequantizeLinear, and weights of floats of 16 bits, become float32.
  /// Off by default, because that quadruples the weights of an int8 file and loses their form.
  bool widen = false;
  /// Maximum growth of a result over its inputs.
  std::size_t max_growth_bytes = std::size_t{16} << 20;
};

/// Computes nodes that depend only on constants.
///
///     [a]   [b]
///       \   /
///        Add     x             [a + b]   x
///          \    /       ->          \   /
///            Mul                     Mul
///
/// Unchanged: Encode and readers of codes, whose result would be larger than the codes; also
/// DequantizeLinear and the Cast of 16-bit weights, unless requested.
/// @return whether the graph changed
bool fold_constants(ir::Graph& graph, const FoldOptions& options = {});

}  // namespace halftone::passes

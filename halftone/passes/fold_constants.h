// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::passes {

struct FoldOptions {
  /// Whether integers behind DequantizeLinear become float32. Off, since that makes the weights of
  /// an int8 file four times as large and forgets that they were integers.
  bool dequantize = false;
  /// A result may be this much larger than what it is computed from.
  std::size_t max_growth_bytes = std::size_t{16} << 20;
};

/// Computes what depends on constants only.
///
///     [a]   [b]
///       \   /
///        Add     x             [a + b]   x
///          \    /       ->          \   /
///            Mul                     Mul
///
/// Left alone: Encode and readers of codes, whose result would be larger than the codes;
/// DequantizeLinear, unless asked for.
/// @return whether the graph changed
bool fold_constants(ir::Graph& graph, const FoldOptions& options = {});

}  // namespace halftone::passes

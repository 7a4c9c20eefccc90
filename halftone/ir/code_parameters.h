// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// What the integers of a graph mean.
struct CodeParameters {
  /// By value: the scales and zero points of the conversions that compute or read it. Operators
  /// that only move elements pass on those with one scale, to their outputs and to their inputs.
  std::map<ValueId, AffineParameters> of_value;
  /// A value that its conversions give different parameters, if there is one; it has the first.
  std::optional<ValueId> ambiguous;
};

CodeParameters code_parameters(const Graph& graph);

}  // namespace halftone::ir

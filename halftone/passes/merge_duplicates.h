// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Merges nodes that compute the same value.
///
///     x ---> Encode ---> layer1            x ---> Encode ---> layer1
///     |                             ->               |
///     +----> Encode ---> layer2                      +------> layer2
///
/// Two nodes are equal if their operators and inputs are equal. Constants merge if they share their
/// storage, or are equal and small, because importers write a scalar once per reader. Equal
/// constants also merge if one of them is a lookup table: files often store the tied embedding
/// table and last layer of a language model twice.
/// @return whether the graph changed
bool merge_duplicates(ir::Graph& graph);

}  // namespace halftone::passes

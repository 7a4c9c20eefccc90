// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Computes once what is computed several times.
///
///     x ---> Encode ---> layer1            x ---> Encode ---> layer1
///     |                             ->               |
///     +----> Encode ---> layer2                      +------> layer2
///
/// Two nodes are the same if their operators are equal and their inputs the same values. Constants
/// are made one where they share their storage or are small and equal, since importers write a
/// scalar as often as it is read; also where rows of one are looked up: files hold the embeddings
/// of a language model and the matrix of its last layer, which are often tied, in two places.
/// @return whether the graph changed
bool merge_duplicates(ir::Graph& graph);

}  // namespace halftone::passes

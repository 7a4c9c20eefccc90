// SPDX-License-Identifier: Apache-2.0
// Hashes of what a measurement depends on, by which a file of results is recognised.
#pragma once

#include "halftone/base/hash.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

/// Adds the names and operators of the nodes of a network, and the bytes of its dense constants.
void add_to_hash(Hash& hash, const ir::Graph& graph);
/// Adds the inputs and labels of all samples.
void add_to_hash(Hash& hash, const data::Dataset& data);

}  // namespace halftone::compress

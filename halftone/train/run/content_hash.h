// SPDX-License-Identifier: Apache-2.0
// Short names for the contents of networks and data: 16 hexadecimal digits of their Hash.
#pragma once

#include <string>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::train {

/// Of nodes, names, types, and all numbers of a network.
std::string content_hash(const ir::Graph& graph);
/// Of all samples and labels.
std::string content_hash(const data::Dataset& data);

}  // namespace halftone::train

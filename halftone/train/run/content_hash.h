// SPDX-License-Identifier: Apache-2.0
// Hashes that identify networks and data, as 16 hexadecimal digits.
#pragma once

#include <string>

#include "halftone/base/hash.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::train {

/// Hash of the nodes, names, types and constants of a network.
std::string content_hash(const ir::Graph& graph);
/// Hash of all samples and labels.
std::string content_hash(const data::Dataset& data);
/// The digits of a hash.
std::string to_text(const Hash& hash);

}  // namespace halftone::train

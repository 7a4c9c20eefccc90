// SPDX-License-Identifier: Apache-2.0
// Size and error of a quantized layer.
#pragma once

#include <cstdint>

#include "halftone/ir/graph.h"
#include "halftone/types/quantize.hpp"

namespace halftone::compress {

/// With Schedule::kIndependent, sqnr_db is of a layer that is the only quantized one.
using v0::LayerReport;

/// The report of a layer and its quantized counterpart, which may be the layer itself. Leaves
/// `sqnr_db` unset, which needs data.
/// @param reference  the graph of `layer`
/// @param quantized  the graph of `counterpart`, which may be the same
/// @pre the weights are constants
LayerReport report_layer(const ir::Graph& reference, ir::NodeId layer, const ir::Graph& quantized,
                         ir::NodeId counterpart);

/// Bytes of the constants that the nodes of a network read, each counted once. What a file has
/// beside them is structure, names and notes.
std::uint64_t constant_bytes(const ir::Graph& graph);

}  // namespace halftone::compress

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/formats/circle/flavor.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Writes a graph as a TFLite or circle file; the same graph gives the same bytes.
///
/// Float operators become the builtin ones; what TFLite has none for is composed of others (see
/// lower.h). A FullyConnected in a basis becomes, in circle files, LQ_FULLY_CONNECTED where that
/// loses nothing: no offset, weights in a basis per tensor or channel, a matrix of encoded input;
/// else the custom operator HalftoneFullyConnected (see custom_options.h). A basis per tensor
/// comes back from LQ_FULLY_CONNECTED as one per channel with equal numbers.
/// @throws Error kUnsupported naming every operator that cannot be written, or if the file would
///         exceed 2 GiB
std::vector<std::byte> export_circle(const ir::Graph& graph, CircleFlavor flavor);

}  // namespace halftone::formats

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/flavor.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Writes a graph as a TFLite or circle file. Equal graphs give equal bytes.
///
/// Float operators become builtin operators; those that TFLite lacks are composed of others (see
/// lower.h). In circle files, a FullyConnected in a basis becomes LQ_FULLY_CONNECTED if that is
/// lossless: no offset, weights with a basis per tensor or channel, a matrix as encoded input.
/// Otherwise it becomes the custom operator HalftoneFullyConnected (see custom_options.h). A basis
/// per tensor is imported from LQ_FULLY_CONNECTED as equal bases per channel.
/// @param one_operator  the network becomes one custom operator (see one_operator.h)
/// @throws Error kUnsupported naming every operator that cannot be written, or if the file would
///         exceed 2 GiB
SharedBytes circle_file(const ir::Graph& graph, CircleFlavor flavor, bool one_operator = false);
/// A copy of these bytes.
std::vector<std::byte> export_circle(const ir::Graph& graph, CircleFlavor flavor);

/// The names of the layers of floats that these files have no operator for: they become custom
/// operators.
std::vector<std::string> own_circle_layers(const ir::Graph& graph);

}  // namespace halftone::formats

// SPDX-License-Identifier: Apache-2.0
// The graph of a network as a picture of its blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halftone/report/page/report_graph.h"

namespace halftone::report::page {

/// The colours of a layer in a graph: steps of heat.h by error, size and time.
struct LayerLook {
  std::optional<int> error{};
  std::optional<int> size{};
  std::optional<int> time{};
};

/// A <div> with an <svg> of the blocks that blocks_of() finds, and under it one <details> element
/// per block, which has the same for the nodes of the block. Blocks that are equal but for numbers
/// in names are drawn once. It needs no scripts. Texts are escaped; the classes are those of
/// picture_style().
/// @param layer_labels  short texts of the layers, by ReportNode::layer: "2 bits, 1.2 KiB"; layers
///                      beyond the end have none
/// @param looks         of the layers; their boxes then have the classes e0, s0, t0, ... by error,
///                      size and time, the ids g0, g1, ... and links to l0, l1, ..., and boxes of
///                      blocks have links to b0, b1, ..., their <details>; empty: none of it
/// @pre inputs of a node are before it
std::string graph_picture(const ReportGraph& graph, const std::vector<std::string>& layer_labels,
                          const std::vector<LayerLook>& looks = {});

}  // namespace halftone::report::page

// SPDX-License-Identifier: Apache-2.0
// The graph of a network as a picture of its blocks.
#pragma once

#include <string>
#include <vector>

#include "halftone/report/page/report_graph.h"

namespace halftone::report::page {

/// A <div> with an <svg> of the blocks that blocks_of() finds, and under it one <details> element
/// per block, which has the same for the nodes of the block. Blocks that are equal but for numbers
/// in names are drawn once. It needs no scripts and has no ids. Texts are escaped; the classes are
/// those of picture_style().
/// @param layer_labels  short texts of the layers, by ReportNode::layer: "2 bits, 1.2 KiB"; layers
///                      beyond the end have none
/// @pre inputs of a node are before it
std::string graph_picture(const ReportGraph& graph, const std::vector<std::string>& layer_labels);

}  // namespace halftone::report::page

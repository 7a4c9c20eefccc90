// SPDX-License-Identifier: Apache-2.0
// A layered drawing of a small acyclic graph, from top to bottom.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace halftone::report::page {

/// A box: its size is given, its position found. In pixels.
struct LayoutBox {
  double width;
  double height;
  double x = 0;  ///< left side
  double y = 0;  ///< upper side
};

struct Layout {
  std::vector<LayoutBox> boxes;
  double width = 0;
  double height = 0;
  std::string edges;  ///< the path of all edges, as SVG writes it
  std::string tips;   ///< the path of their arrowheads
};

/// An edge from the first box to the second.
using LayoutEdge = std::pair<std::size_t, std::size_t>;

/// Places boxes in rows below all that they depend on (longest paths), orders the rows by medians
/// such that few edges cross, and moves boxes towards their neighbours. Edges over several rows
/// have lanes between the boxes; edges of one box share theirs. A tall drawing continues in columns
/// to the right, from rows that one edge leads to. The result depends on the arguments only. Time:
/// rows * edges, times a constant.
/// @pre every edge goes from a box to a later one
/// Source: Sugiyama, Tagawa, Toda 1981 (layers); Gansner et al., A Technique for Drawing Directed
/// Graphs, 1993 (medians). Differs: positions of a row by isotonic regression.
/// @param column_height  of a column, in pixels, about
Layout layered(std::vector<LayoutBox> boxes, const std::vector<LayoutEdge>& edges,
               double column_height = 640);

}  // namespace halftone::report::page

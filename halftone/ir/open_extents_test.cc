// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/open_extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/text.h"
#include "halftone/ir/verify.h"

namespace halftone::ir {
namespace {

/// A network of images: a layer, a Resize to the size of the input, the last row of it, and all of
/// its pixels as rows.
Graph network(Dim rows, Dim cols) {
  Graph graph;
  const ValueId x = graph.add_input("x", test::float_type({kBatch, rows, cols, 2}));
  const ValueId w = graph.add_constant("w", Tensor(ElementType::kFloat32, {3, 3, 3, 2}));
  Window window = plain_window(2);
  window.strides = {2, 2};
  window.pads_before = window.pads_after = {1, 1};
  const ValueId y = graph.add_node("layer", Conv{window, 1, {}}, {x, w});
  const Dim small = graph.value(y).type.shape[1];
  Resize resize;
  resize.axis = 1;
  resize.count = static_cast<std::size_t>(rows);
  resize.scale = is_expression(rows) ? 0 : static_cast<float>(rows) / static_cast<float>(small);
  const ValueId z = graph.add_node("resize", resize, {y});
  const Dim last = dim_of(extent_of(rows) - 1);
  graph.add_output(graph.add_node("last", Slice{1, static_cast<std::size_t>(last), 1, 1}, {z}));
  const Dim width = graph.value(z).type.shape[2];
  const Shape pixels{kBatch, dim_of(extent_of(rows) * extent_of(width)), 3};
  graph.add_output(graph.add_node("pixels", Reshape{pixels}, {z}));
  return graph;
}

Dim symbol(const char* name) { return dim_of(Extent::symbol(name)); }

TEST(OpenExtents, BecomeTheNetworkOfEachSize) {
  const Graph open = network(symbol("H"), symbol("W"));
  verify(open);
  EXPECT_THAT(open_extents(open), testing::ElementsAre("H", "W"));
  for (const auto& [rows, cols] : {std::pair{8, 12}, std::pair{7, 5}, std::pair{1, 1}}) {
    Graph filled = open;
    fill_in_extents(filled, {{"H", rows}, {"W", cols}});
    verify(filled);
    EXPECT_EQ(to_text(filled), to_text(network(rows, cols)));
    EXPECT_TRUE(open_extents(filled).empty());
  }
}

TEST(OpenExtents, AreThoseOfInputs) {
  const Graph open = network(symbol("H"), symbol("W"));
  const std::vector<std::optional<Shape>> found = {Shape{3, 8, 12, 2}};
  EXPECT_EQ(sizes_of(open, open.inputs(), found), (Sizes{{"H", 8}, {"W", 12}}));
  const std::vector<std::optional<Shape>> unknown = {std::nullopt};
  EXPECT_TRUE(sizes_of(open, open.inputs(), unknown).empty());
  const Graph square = network(symbol("H"), symbol("H"));
  expect_error(ErrorKind::kShape, "input 'x': expected 8 for the extent H, as before, found 12",
               [&] { sizes_of(square, square.inputs(), found); });
}

TEST(OpenExtents, SayHowToGiveThem) {
  Graph open = network(symbol("H"), symbol("W"));
  EXPECT_EQ(how_to_give_extents(open),
            "input 'x' [N, H, W, 2]: the file leaves extents open: give the input a shape "
            "(--shape x=N,H,W,2 with numbers for H and W)");
  expect_error(ErrorKind::kUsage, "--shape x=N,H,W,2", [&] { fill_in_extents(open, {{"H", 8}}); });
  expect_error(ErrorKind::kShape, "window", [] {
    Graph graph = network(symbol("H"), symbol("W"));
    Graph copy = graph;
    fill_in_extents(copy, {{"H", 0}, {"W", 0}});
  });
}

}  // namespace
}  // namespace halftone::ir

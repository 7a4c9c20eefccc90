// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/graph_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/report/markup_testing.h"
#include "halftone/report/page/graph_testing.h"

namespace halftone::report::page {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_markup(const std::string& html) {
  EXPECT_TRUE(is_well_formed(html)) << html;
  EXPECT_EQ(count(html, " id="), 0U);
  EXPECT_EQ(count(html, "<script"), 0U);
}

/// A residual network whose blocks differ in their types.
ReportGraph varied_network(std::size_t num_blocks, bool has_names) {
  ReportGraph graph = residual_network(num_blocks, has_names);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.nodes[i].type = "float32[N, " + std::to_string(i / 5) + "]";
  }
  return graph;
}

TEST(GraphPicture, ShowsBlocksAndTheirNodesBelow) {
  const std::string html = graph_picture(varied_network(3, true), {"2 bits, 100 B"});
  expect_markup(html);
  EXPECT_EQ(count(html, "<svg"), 4U);
  EXPECT_EQ(count(html, "<details"), 3U);
  EXPECT_THAT(html, HasSubstr("<summary>stage0/0: 5 nodes, 200 B</summary>"));
  EXPECT_THAT(html, HasSubstr(">Conv, 2 bits, 100 B</text>"));
  EXPECT_THAT(html, HasSubstr("<title>stage0/0/conv1: Conv, 2 bits, 100 B, float32["));
  EXPECT_THAT(html, HasSubstr(">from image</text>"));
}

TEST(GraphPicture, DrawsEqualBlocksOnce) {
  std::vector<std::string> labels(9, "2 bits");
  const ReportGraph graph = residual_network(4, true);
  const std::string html = graph_picture(graph, labels);
  expect_markup(html);
  EXPECT_EQ(count(html, "<details"), 1U);
  EXPECT_THAT(html,
              HasSubstr("<p class=alike>stage0/1 to stage0/3: each the same as stage0/0</p>"));
  // Another label makes a difference, as layers 4 and 5 are in the third block.
  labels[4] = "3 bits";
  const std::string other = graph_picture(graph, labels);
  EXPECT_EQ(count(other, "<details"), 2U);
  EXPECT_THAT(other, HasSubstr("<p class=alike>stage0/1: the same as stage0/0</p>"));
  EXPECT_THAT(other, HasSubstr("<p class=alike>stage0/3: the same as stage0/0</p>"));
}

TEST(GraphPicture, OfASmallNetworkShowsItsNodes) {
  const ReportGraph graph = residual_network(1, false);
  const std::string html = graph_picture(graph, {});
  expect_markup(html);
  EXPECT_EQ(count(html, "<svg"), 1U);
  EXPECT_EQ(count(html, "<details"), 0U);
  EXPECT_EQ(count(html, "<title>"), graph.nodes.size());
}

TEST(GraphPicture, EscapesNames) {
  ReportGraph graph = residual_network(3, true);
  for (ReportNode& node : graph.nodes) {
    node.name = "</svg><script>alert(1)</script>/\"&\xFF" + node.name;
    node.op = "<b>";
    node.type = "<i>";
  }
  const std::string html = graph_picture(graph, {"<u>"});
  expect_markup(html);
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, Not(HasSubstr("<u>")));
  EXPECT_EQ(html.find('\xFF'), std::string::npos);
}

TEST(GraphPicture, LinksLayersToRowsAndBlocksToTheirPictures) {
  const ReportGraph graph = residual_network(4, true);
  const std::vector<LayerLook> looks(9, {1, 2, std::nullopt});
  const std::string html = graph_picture(graph, std::vector<std::string>(9, "2 bits"), looks);
  EXPECT_TRUE(is_well_formed(html)) << html;
  // Every layer has its id, drawn or not; those that are drawn link to their rows.
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(count(html, " id=g" + std::to_string(i) + (i < 2 || i == 8 ? " " : ">")), 1U) << i;
  }
  EXPECT_THAT(html, HasSubstr("<a id=g0 href=\"#l0\"><title>stage0/0/conv1"));
  EXPECT_THAT(html, HasSubstr("class=\"layer e1 s2\""));
  EXPECT_THAT(html, HasSubstr("<a href=\"#b0\"><title>stage0/0: 5 nodes"));
  EXPECT_THAT(html, HasSubstr("<details class=block id=b0>"));
}

TEST(GraphPicture, OfNothingIsEmpty) {
  EXPECT_EQ(graph_picture({}, {}), "<div class=graph></div>\n");
}

TEST(GraphPicture, IsTheSameEveryTime) {
  const ReportGraph graph = residual_network(30, false);
  EXPECT_EQ(graph_picture(graph, {}), graph_picture(graph, {}));
}

TEST(GraphPicture, OfFiveHundredLayersIsSmall) {
  for (const bool has_names : {true, false}) {
    EXPECT_LT(graph_picture(residual_network(250, has_names), {}).size(), 60'000U);
    const ReportGraph graph = varied_network(250, has_names);
    const std::string html = graph_picture(graph, {});
    expect_markup(html);
    EXPECT_LT(html.size(), 450'000U);
    // Every node is shown once.
    for (const ReportNode& node : graph.nodes) {
      EXPECT_EQ(count(html, "<title>" + node.name + ": " + node.op), 1U) << node.name;
    }
  }
}

TEST(GraphPicture, NamesTheFirstNodesOutsideOfABlock) {
  ReportGraph graph;
  std::vector<std::size_t> inputs;
  for (int i = 0; i < 400; ++i) inputs.push_back(add(graph, "x/" + std::to_string(i), "Input", {}));
  std::size_t last = add(graph, "b/sum", "Concat", inputs);
  for (int i = 0; i < 300; ++i) last = add(graph, "b/" + std::to_string(i), "Relu", {last});
  const std::string html = graph_picture(graph, {});
  expect_markup(html);
  EXPECT_THAT(html, HasSubstr(">from x/6</text>"));
  EXPECT_THAT(html, Not(HasSubstr(">from x/7</text>")));
  EXPECT_THAT(html, HasSubstr(">from 393 others</text>"));
}

TEST(GraphPicture, NamesWithThousandsOfPartsAreDrawn) {
  std::string deep;
  for (int i = 0; i < 20'000; ++i) deep += "a/";
  ReportGraph graph = residual_network(20, false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.nodes[i].name = deep + std::to_string(i);
  }
  expect_markup(graph_picture(graph, {}));
}

TEST(GraphPicture, DenselyConnectedNodesAreDrawnToo) {
  ReportGraph graph;
  for (std::size_t i = 0; i < 60; ++i) {
    std::vector<std::size_t> inputs;
    for (std::size_t j = 0; j < i; ++j) inputs.push_back(j);
    add(graph, "n" + std::to_string(i), "Concat", inputs);
  }
  expect_markup(graph_picture(graph, {}));
}

}  // namespace
}  // namespace halftone::report::page

// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/random.h"

namespace halftone::report::page {
namespace {

std::vector<LayoutBox> boxes(std::size_t num) {
  return std::vector<LayoutBox>(num, {80, 30, 0, 0});
}

double middle(const LayoutBox& box) { return box.x + box.width / 2; }

/// No box overlaps another, all are inside, and edges lead down, or to a column on the right.
void expect_drawing(const Layout& layout, const std::vector<LayoutEdge>& edges) {
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    const LayoutBox& a = layout.boxes[i];
    EXPECT_GE(a.x, 0);
    EXPECT_GE(a.y, 0);
    EXPECT_LE(a.x + a.width, layout.width);
    EXPECT_LE(a.y + a.height, layout.height);
    for (std::size_t j = 0; j < i; ++j) {
      const LayoutBox& b = layout.boxes[j];
      EXPECT_TRUE(a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height ||
                  b.y >= a.y + a.height)
          << i << " overlaps " << j;
    }
  }
  for (const auto& [from, to] : edges) {
    const LayoutBox& a = layout.boxes[from];
    const LayoutBox& b = layout.boxes[to];
    EXPECT_TRUE(a.y + a.height < b.y || a.x + a.width < b.x);
  }
}

TEST(Layered, AChainIsAStraightColumn) {
  const std::vector<LayoutEdge> edges{{0, 1}, {1, 2}};
  const Layout layout = layered(boxes(3), edges);
  expect_drawing(layout, edges);
  EXPECT_DOUBLE_EQ(middle(layout.boxes[0]), middle(layout.boxes[2]));
  EXPECT_EQ(layout.edges.find('C'), std::string::npos);
}

TEST(Layered, AnEdgeOverRowsPassesBesideTheBoxes) {
  const std::vector<LayoutEdge> edges{{0, 1}, {0, 3}, {1, 2}, {2, 3}};
  const Layout layout = layered(boxes(4), edges);
  expect_drawing(layout, edges);
  EXPECT_NE(layout.edges.find('C'), std::string::npos);
  EXPECT_DOUBLE_EQ(middle(layout.boxes[1]), middle(layout.boxes[2]));
}

TEST(Layered, MediansUndoACrossing) {
  // Written as given, 0-3 and 1-2 cross.
  const std::vector<LayoutEdge> edges{{0, 3}, {1, 2}};
  const Layout layout = layered(boxes(4), edges);
  expect_drawing(layout, edges);
  EXPECT_DOUBLE_EQ(middle(layout.boxes[0]), middle(layout.boxes[3]));
  EXPECT_DOUBLE_EQ(middle(layout.boxes[1]), middle(layout.boxes[2]));
}

TEST(Layered, SourcesAreJustAboveTheirReader) {
  const std::vector<LayoutEdge> edges{{0, 1}, {1, 2}, {2, 4}, {3, 4}};
  const Layout layout = layered(boxes(5), edges);
  expect_drawing(layout, edges);
  EXPECT_DOUBLE_EQ(layout.boxes[3].y, layout.boxes[2].y);
}

TEST(Layered, ATallDrawingContinuesInFurtherColumns) {
  std::vector<LayoutEdge> edges;
  for (std::size_t i = 0; i < 31; ++i) edges.emplace_back(i, i + 1);
  const Layout layout = layered(boxes(32), edges);
  expect_drawing(layout, edges);
  EXPECT_LT(layout.height, 720);
  EXPECT_DOUBLE_EQ(layout.boxes.front().y, layout.boxes[11].y);
  EXPECT_LT(layout.boxes.front().x, layout.boxes[11].x);
}

TEST(Layered, NoColumnEndsWhereTwoEdgesPass) {
  // An edge from the first to the last box is beside all others.
  std::vector<LayoutEdge> edges{{0, 31}};
  for (std::size_t i = 0; i < 31; ++i) edges.emplace_back(i, i + 1);
  const Layout layout = layered(boxes(32), edges);
  expect_drawing(layout, edges);
  EXPECT_GT(layout.height, 32 * 30);
}

TEST(Layered, SizesFromNoneToManyAreSoundAndTheSameEveryTime) {
  Random random(1);
  for (std::size_t num = 0; num <= 45; ++num) {
    std::vector<LayoutEdge> edges;
    std::vector<LayoutBox> sized = boxes(num);
    for (std::size_t to = 0; to < num; ++to) {
      sized[to].width = 40.0 + static_cast<double>(random.below(120));
      for (std::size_t from = 0; from < to; ++from) {
        if (random.below(num) < 2) edges.emplace_back(from, to);
      }
    }
    const Layout layout = layered(sized, edges);
    expect_drawing(layout, edges);
    EXPECT_EQ(layout.edges, layered(sized, edges).edges);
  }
}

TEST(Layered, IsLowerInLowerColumns) {
  std::vector<LayoutEdge> edges;
  for (std::size_t i = 0; i + 1 < 12; ++i) edges.emplace_back(i, i + 1);
  const Layout high = layered(boxes(12), edges);
  const Layout low = layered(boxes(12), edges, 200);
  EXPECT_LT(low.height, high.height);
  EXPECT_GT(low.width, high.width);
}

}  // namespace
}  // namespace halftone::report::page

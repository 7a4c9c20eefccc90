// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "halftone/base/random.h"
#include "halftone/report/page/graph_testing.h"

namespace halftone::report::page {
namespace {

using testing::ElementsAre;

std::vector<std::size_t> all_nodes(const ReportGraph& graph) {
  std::vector<std::size_t> nodes(graph.nodes.size());
  std::iota(nodes.begin(), nodes.end(), std::size_t{0});
  return nodes;
}

std::vector<std::string> names(const std::vector<Block>& blocks) {
  std::vector<std::string> result;
  for (const Block& block : blocks) result.push_back(block.name);
  return result;
}

/// Every node is in one block, and blocks read earlier ones only.
void expect_sound(const ReportGraph& graph, const std::vector<Block>& blocks) {
  std::vector<std::size_t> owner(graph.nodes.size(), graph.nodes.size());
  std::size_t num_nodes = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    EXPECT_TRUE(std::ranges::is_sorted(blocks[b].nodes));
    for (const std::size_t node : blocks[b].nodes) owner[node] = b;
    num_nodes += blocks[b].nodes.size();
  }
  EXPECT_EQ(num_nodes, graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::size_t input : graph.nodes[i].inputs) EXPECT_LE(owner[input], owner[i]);
  }
}

TEST(BlocksOf, FewNodesAreBlocksThemselves) {
  const ReportGraph graph = residual_network(1, true);
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 7);
  EXPECT_EQ(blocks.size(), 7U);
  EXPECT_EQ(blocks[1].name, "stage0/0/conv1");
}

TEST(BlocksOf, NamesTellTheBlocks) {
  const ReportGraph graph = residual_network(3, true);
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 12);
  expect_sound(graph, blocks);
  EXPECT_THAT(names(blocks), ElementsAre("image", "stage0/0", "stage0/1", "stage0/2", "linear"));
}

TEST(BlocksOf, ManyBlocksAreFoldedOneLevelUp) {
  const ReportGraph graph = residual_network(40, true);
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 12);
  expect_sound(graph, blocks);
  EXPECT_THAT(names(blocks),
              ElementsAre("image", "stage0", "stage1", "stage2", "stage3", "linear"));
}

TEST(BlocksOf, WithoutNamesRegionsBetweenSingleValuesAreBlocks) {
  const ReportGraph graph = residual_network(3, false);
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 12);
  expect_sound(graph, blocks);
  EXPECT_THAT(names(blocks), ElementsAre("node_0", "node_1", "node_6", "node_11", "node_16"));
  EXPECT_THAT(blocks[1].nodes, ElementsAre(1, 2, 3, 4, 5));
}

TEST(BlocksOf, AChainIsSplitAtItsLayers) {
  ReportGraph graph;
  std::size_t last = add(graph, "x", "Input", {});
  for (int i = 0; i < 8; ++i) {
    last = add_layer(graph, "c" + std::to_string(i), last);
    last = add(graph, "r" + std::to_string(i), "Relu", {last});
  }
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 12);
  expect_sound(graph, blocks);
  EXPECT_EQ(blocks.size(), 9U);
  EXPECT_THAT(blocks[1].nodes, ElementsAre(1, 2));
}

TEST(BlocksOf, MoreBlocksThanAPictureShowsAreCombined) {
  const ReportGraph graph = residual_network(100, false);
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 12);
  expect_sound(graph, blocks);
  EXPECT_LE(blocks.size(), 32U);
  EXPECT_EQ(blocks[0].name, "node_0 to node_36");
}

TEST(BlocksOf, NamesInACircleAreSplitIntoRuns) {
  // Scope a feeds scope b, which feeds a.
  ReportGraph graph;
  std::size_t last = add(graph, "x", "Input", {});
  for (const std::string scope : {"a", "b", "a"}) {
    for (int i = 0; i < 5; ++i) last = add(graph, scope + "/" + std::to_string(i), "Relu", {last});
  }
  const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 12);
  expect_sound(graph, blocks);
  EXPECT_THAT(names(blocks), ElementsAre("x", "a", "b", "a"));
}

TEST(BlocksOf, JoinedNamesCountByTheirFirst) {
  ReportGraph graph;
  std::size_t last = add(graph, "x", "Input", {});
  for (int i = 0; i < 14; ++i) {
    const std::string scope = i < 7 ? "a" : "b";
    last = add(graph, "model/" + scope + "/add;other/" + std::to_string(i) + "/x", "Add", {last});
  }
  EXPECT_THAT(names(blocks_of(graph, all_nodes(graph), 12)),
              ElementsAre("x", "model/a", "model/b"));
}

TEST(BlocksOf, AnyGraphHasAnOrderOfItsBlocks) {
  Random random(7);
  for (std::size_t num = 1; num < 300; num += 13) {
    ReportGraph graph;
    for (std::size_t i = 0; i < num; ++i) {
      std::vector<std::size_t> inputs;
      for (int k = 0; k < 3 && i > 0; ++k) inputs.push_back(random.below(i));
      const std::string scope = std::to_string(random.below(4));
      add(graph, scope + "/" + std::to_string(i / 9) + ".op", "Add", inputs);
    }
    const std::vector<Block> blocks = blocks_of(graph, all_nodes(graph), 5);
    expect_sound(graph, blocks);
    EXPECT_GT(blocks.size(), num > 1 ? 1U : 0U);
    EXPECT_LE(blocks.size(), 32U);
  }
}

}  // namespace
}  // namespace halftone::report::page

// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/code_parameters.h"

#include <gtest/gtest.h>

namespace halftone::ir {
namespace {

const AffineParameters kHalves{{0.5F}, {3}, 0};

/// x reshaped, and that joined with z and with z turned around.
struct Moves {
  Graph graph;
  ValueId x = graph.add_input("x", dense_type(ElementType::kInt8, {kBatch, 2, 3}));
  ValueId z = graph.add_input("z", dense_type(ElementType::kInt8, {kBatch, 6}));
  ValueId flat = graph.add_node("flat", Reshape{{kBatch, 6}}, {x});
  ValueId joined = graph.add_node("joined", Concat{1}, {flat, z});
  ValueId turned = graph.add_node("turned", Transpose{{1, 0}}, {z});
};

TEST(CodeParameters, PassThroughMovesInBothDirections) {
  Moves net;
  net.graph.add_output(net.graph.add_node("y", DequantizeLinear{kHalves}, {net.joined}));
  net.graph.add_output(net.turned);
  const CodeParameters found = code_parameters(net.graph);
  EXPECT_FALSE(found.ambiguous);
  for (const ValueId value : {net.x, net.z, net.flat, net.joined, net.turned}) {
    ASSERT_TRUE(found.of_value.contains(value)) << net.graph.value(value).name;
    EXPECT_EQ(found.of_value.at(value), kHalves);
  }
}

TEST(CodeParameters, StopWhereAnotherConversionSaysMore) {
  Moves net;
  const AffineParameters quarters{{0.25F}, {0}, 0};
  net.graph.add_output(net.graph.add_node("y", DequantizeLinear{kHalves}, {net.joined}));
  net.graph.add_output(net.graph.add_node("v", DequantizeLinear{quarters}, {net.x}));
  const CodeParameters found = code_parameters(net.graph);
  EXPECT_EQ(found.of_value.at(net.x), quarters);
  EXPECT_EQ(found.of_value.at(net.joined), kHalves);
}

TEST(CodeParameters, NameAnAmbiguousValue) {
  Moves net;
  net.graph.add_output(net.graph.add_node("y", DequantizeLinear{kHalves}, {net.x}));
  net.graph.add_output(net.graph.add_node("v", DequantizeLinear{{{0.25F}, {0}, 0}}, {net.x}));
  const CodeParameters found = code_parameters(net.graph);
  EXPECT_EQ(found.ambiguous, net.x);
  EXPECT_EQ(found.of_value.at(net.x), kHalves);
}

TEST(CodeParameters, KeepScalesPerChannelToTheirValue) {
  Moves net;
  net.graph.add_output(
      net.graph.add_node("y", DequantizeLinear{{{1, 2, 3}, {0, 0, 0}, 2}}, {net.x}));
  const CodeParameters found = code_parameters(net.graph);
  EXPECT_EQ(found.of_value.size(), 1U);
}

}  // namespace
}  // namespace halftone::ir

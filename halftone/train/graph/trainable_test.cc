// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/trainable.h"

#include <gmock/gmock.h>

#include "halftone/ir/testing.h"

namespace halftone::train {
namespace {

using ir::BinaryKind;
using ir::ValueId;
using ir::test::float_type;
using testing::ElementsAre;
using testing::IsEmpty;

/// Builds graphs whose constants have the names that tests look up.
struct Builder {
  ir::Graph graph;
  std::uint64_t seed = 1;

  ValueId constant(const std::string& name, const ir::Shape& shape) {
    return graph.add_constant(name, ir::test::random_tensor(shape, seed++));
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b, ir::Activation activation = {}) {
    return graph.add_node("binary", ir::Binary{kind, activation}, {a, b});
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const ValueId id : trainable_constants(graph)) found.push_back(graph.value(id).name);
    return found;
  }
};

TEST(TrainableConstants, AreWeightsAndBiases) {
  Builder b;
  const ValueId x = b.graph.add_input("x", float_type({2, 4, 4, 3}));
  const ValueId conv =
      b.graph.add_node("conv", ir::Conv{ir::plain_window(2)},
                       {x, b.constant("conv.w", {2, 1, 1, 3}), b.constant("conv.b", {2})});
  const ValueId up = b.graph.add_node("up", ir::ConvTranspose{ir::plain_window(2), {0, 0}},
                                      {conv, b.constant("up.w", {2, 1, 1, 2})});
  const ValueId dense =
      b.graph.add_node("dense", ir::FullyConnected{},
                       {up, b.constant("dense.w", {5, 2}), b.constant("dense.b", {5})});
  const ValueId left =
      b.graph.add_node("left", ir::MatMul{}, {b.constant("left.w", {4, 4}), dense});
  b.graph.add_output(
      b.graph.add_node("right", ir::MatMul{}, {left, b.constant("right.w", {5, 1})}));
  EXPECT_THAT(b.names(),
              ElementsAre("conv.w", "conv.b", "up.w", "dense.w", "dense.b", "left.w", "right.w"));
}

TEST(TrainableConstants, AreWeightsOfRecurrentLayersButNotFirstStates) {
  Builder b;
  const ValueId x = b.graph.add_input("x", float_type({3, 2, 8}));
  b.graph.add_output(
      b.graph.add_node("lstm", ir::Recurrent{},
                       {x, b.constant("r", {8, 2}), ir::kAbsent, b.constant("h", {1, 2}),
                        b.constant("c", {1, 2}), ir::kAbsent, b.constant("p", {6})}));
  EXPECT_THAT(b.names(), ElementsAre("r", "p"));
}

TEST(TrainableConstants, AreTablesOfRealNumbers) {
  Builder b;
  const ValueId i = b.graph.add_input("i", ir::dense_type(ir::ElementType::kInt64, {4}));
  const ValueId row = b.graph.add_node("row", ir::Gather{0}, {b.constant("table", {5, 2}), i});
  const ValueId indices =
      b.graph.add_constant("indices", ir::test::tensor<std::int64_t>({3}, {0, 1, 2}));
  const ValueId index = b.graph.add_node("index", ir::Gather{0}, {indices, i});
  b.graph.set_outputs({row, index});
  EXPECT_THAT(b.names(), ElementsAre("table"));
}

TEST(TrainableConstants, AreScalesAndShiftsBehindANormalizeOnly) {
  Builder b;
  const ValueId x = b.graph.add_input("x", float_type({2, 3, 4}));
  const ValueId scaled = b.binary(BinaryKind::kMul, x, b.constant("input scale", {4}));
  const ValueId normal = b.graph.add_node("normal", ir::Normalize{{2}}, {scaled});
  const ValueId moved = b.graph.add_node("moved", ir::Reshape{{2, 12}}, {normal});
  const ValueId gamma = b.binary(BinaryKind::kMul, b.constant("gamma", {12}), moved);
  const ValueId halved = b.binary(BinaryKind::kDiv, gamma, b.constant("divisor", {1}));
  const ValueId beta =
      b.binary(BinaryKind::kAdd, halved, b.constant("beta", {12}), {ir::ActivationKind::kRelu});
  const ValueId after = b.binary(BinaryKind::kAdd, beta, b.constant("behind the activation", {1}));
  const ValueId bounded = b.binary(BinaryKind::kMax, normal, b.constant("bound", {1}));
  b.graph.set_outputs({after, bounded, b.binary(BinaryKind::kDiv, b.constant("one", {1}), normal)});
  EXPECT_THAT(b.names(), ElementsAre("gamma", "divisor", "beta"));
}

TEST(TrainableConstants, ThatAreSharedAreOne) {
  Builder b;
  const ValueId x = b.graph.add_input("x", float_type({2, 3}));
  const ValueId w = b.constant("w", {3, 3});
  const ValueId first = b.graph.add_node("first", ir::FullyConnected{}, {x, w});
  b.graph.add_output(b.graph.add_node("second", ir::FullyConnected{}, {first, w}));
  EXPECT_THAT(b.names(), ElementsAre("w"));
}

TEST(NodesWithGradient, LieBetweenParametersAndRealOutputs) {
  Builder b;
  const ValueId x = b.graph.add_input("x", float_type({2, 3}));
  const ValueId before = b.graph.add_node("before", ir::Unary{{ir::ActivationKind::kTanh}}, {x});
  const ValueId layer =
      b.graph.add_node("layer", ir::FullyConnected{}, {before, b.constant("w", {3, 3})});
  const ValueId best = b.graph.add_node("best", ir::ArgReduce{1}, {layer});
  const ValueId value = b.graph.add_node("value", ir::GatherElements{1}, {layer, best});
  b.graph.add_node("unread", ir::Unary{{ir::ActivationKind::kTanh}}, {layer});
  b.graph.set_outputs({value, best});
  std::vector<std::string> found;
  for (const ir::NodeId id : nodes_with_gradient(b.graph, trainable_constants(b.graph))) {
    found.push_back(b.graph.node(id).name);
  }
  EXPECT_THAT(found, ElementsAre("layer", "value"));
  EXPECT_THAT(nodes_with_gradient(b.graph, {}), IsEmpty());
}

}  // namespace
}  // namespace halftone::train

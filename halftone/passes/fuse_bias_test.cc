// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::BinaryKind;
using ir::Graph;
using ir::kAbsent;
using ir::kBatch;
using ir::ValueId;
using ir::test::floats;
using ir::test::kRelu;
using testing::ElementsAre;

/// x [N, 2] -> FullyConnected with 3 outputs, with or without bias.
struct BiasedLayer {
  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
  ValueId w = graph.add_constant("w", floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  ValueId y;

  explicit BiasedLayer(bool with_bias) {
    std::vector<ValueId> inputs = {x, w};
    if (with_bias) inputs.push_back(graph.add_constant("b", floats({3}, {10, 20, 30})));
    y = graph.add_node("dense", ir::FullyConnected{}, inputs);
  }
  void then(BinaryKind kind, ir::Tensor constant, bool constant_first = false,
            ir::Activation activation = {}) {
    const ValueId c = graph.add_constant("c", std::move(constant));
    y = graph.add_node("after", ir::Binary{kind, activation},
                       constant_first ? std::vector{c, y} : std::vector{y, c});
  }
  bool run() {
    graph.add_output(y);
    return test::run_checked(graph, fuse_bias);
  }
  [[nodiscard]] ValueId input(std::size_t i) const { return test::output_node(graph).inputs.at(i); }
};

struct BiasCase {
  BinaryKind kind;
  bool constant_first;
  std::vector<float> weights;
  std::vector<float> bias;       ///< expected, from a bias of 10 20 30
  std::vector<float> bias_only;  ///< expected without a bias; empty if there is still none
};

TEST(FuseBias, MovesConstantsOfEveryKindIntoTheLayer) {
  const BiasCase cases[] = {
      {BinaryKind::kAdd, false, {1, 2, 3, 4, 5, 6}, {11, 22, 34}, {1, 2, 4}},
      {BinaryKind::kAdd, true, {1, 2, 3, 4, 5, 6}, {11, 22, 34}, {1, 2, 4}},
      {BinaryKind::kSub, false, {1, 2, 3, 4, 5, 6}, {9, 18, 26}, {-1, -2, -4}},
      {BinaryKind::kSub, true, {-1, -2, -3, -4, -5, -6}, {-9, -18, -26}, {1, 2, 4}},
      {BinaryKind::kMul, false, {1, 2, 6, 8, 20, 24}, {10, 40, 120}, {}},
      {BinaryKind::kMul, true, {1, 2, 6, 8, 20, 24}, {10, 40, 120}, {}},
      {BinaryKind::kDiv, false, {1, 2, 1.5F, 2, 1.25F, 1.5F}, {10, 10, 7.5F}, {}},
  };
  for (const BiasCase& each : cases) {
    for (const bool with_bias : {true, false}) {
      BiasedLayer layer(with_bias);
      layer.then(each.kind, floats({1, 3}, {1, 2, 4}), each.constant_first, kRelu.activation);
      ASSERT_TRUE(layer.run());
      EXPECT_THAT(test::operators(layer.graph), ElementsAre("FullyConnected"));
      const ir::Node& node = test::output_node(layer.graph);
      EXPECT_EQ(node.name, "dense");
      EXPECT_EQ(node.op, ir::Operator(ir::FullyConnected{kRelu.activation}));
      EXPECT_EQ(test::constant_floats(layer.graph, node.inputs[1]), each.weights);
      const std::vector<float>& bias = with_bias ? each.bias : each.bias_only;
      ASSERT_EQ(node.inputs.size(), bias.empty() ? 2u : 3u);
      if (!bias.empty()) {
        EXPECT_EQ(test::constant_floats(layer.graph, node.inputs[2]), bias);
      }
    }
  }
}

TEST(FuseBias, NamesStayWithTheValues) {
  BiasedLayer sum(false);
  sum.then(BinaryKind::kAdd, floats({3}, {1, 2, 4}));
  ASSERT_TRUE(sum.run());
  EXPECT_EQ(sum.graph.value(sum.graph.outputs()[0]).name, "after");
  EXPECT_EQ(sum.graph.value(sum.input(2)).name, "c");
  BiasedLayer product(true);
  product.then(BinaryKind::kMul, floats({3}, {1, 2, 4}));
  ASSERT_TRUE(product.run());
  EXPECT_EQ(product.graph.value(product.input(1)).name, "w");
  EXPECT_EQ(product.graph.value(product.input(2)).name, "b");
}

TEST(FuseBias, TakesAWholeBatchNormalization) {
  BiasedLayer layer(false);
  layer.then(BinaryKind::kSub, floats({3}, {1, 2, 3}));
  layer.then(BinaryKind::kDiv, floats({}, {2}));
  layer.then(BinaryKind::kMul, floats({1, 3}, {4, 6, 8}));
  layer.then(BinaryKind::kAdd, floats({1}, {5}), true, kRelu.activation);
  ASSERT_TRUE(layer.run());
  EXPECT_THAT(test::operators(layer.graph), ElementsAre("FullyConnected"));
  EXPECT_THAT(test::constant_floats(layer.graph, layer.input(1)), ElementsAre(2, 4, 9, 12, 20, 24));
  EXPECT_THAT(test::constant_floats(layer.graph, layer.input(2)), ElementsAre(3, -1, -7));
}

TEST(FuseBias, KeepsOtherConstants) {
  const struct {
    BinaryKind kind;
    ir::Shape shape;
    float number;
    bool constant_first;
  } cases[] = {{BinaryKind::kMax, {3}, 1, false},       {BinaryKind::kDiv, {3}, 2, true},
               {BinaryKind::kDiv, {3}, 0, false},       {BinaryKind::kMul, {3}, 3e38F, false},
               {BinaryKind::kAdd, {2, 1, 3}, 1, false}, {BinaryKind::kAdd, {1, 1, 1}, 1, false}};
  for (const auto& [kind, shape, number, constant_first] : cases) {
    BiasedLayer layer(true);
    ir::Tensor constant(ir::ElementType::kFloat32, shape);
    std::ranges::fill(constant.as<float>(), number);
    layer.then(kind, std::move(constant), constant_first);
    layer.graph.add_output(layer.y);
    EXPECT_FALSE(fuse_bias(layer.graph)) << to_string(kind) << shape.to_string();
  }
}

TEST(FuseBias, KeepsValuesWithOtherReaders) {
  BiasedLayer read(false);
  read.graph.add_output(read.y);
  read.then(BinaryKind::kAdd, floats({3}, {1, 2, 3}));
  EXPECT_FALSE(read.run());
  BiasedLayer squared(false);
  squared.y =
      squared.graph.add_node("square", ir::Binary{BinaryKind::kMul, {}}, {squared.y, squared.y});
  EXPECT_FALSE(squared.run());
  BiasedLayer shared(false);
  shared.graph.add_output(
      shared.graph.add_node("other", ir::FullyConnected{}, {shared.x, shared.w}));
  BiasedLayer shared_sum = shared;
  shared.then(BinaryKind::kMul, floats({3}, {1, 2, 3}));
  EXPECT_FALSE(shared.run()) << "scaled a weight another layer reads";
  shared_sum.then(BinaryKind::kAdd, floats({3}, {1, 2, 3}));
  EXPECT_TRUE(shared_sum.run()) << "a bias does not touch the weights";
}

TEST(FuseBias, KeepsActivatedLayersAndComputedBiases) {
  BiasedLayer activated(true);
  activated.graph.replace_node(*activated.graph.producer(activated.y),
                               ir::FullyConnected{kRelu.activation}, {activated.x, activated.w});
  activated.then(BinaryKind::kAdd, floats({3}, {1, 2, 3}));
  EXPECT_FALSE(activated.run());
  BiasedLayer computed(false);
  const ValueId b = computed.graph.add_input("b", ir::test::float_type({3}));
  computed.graph.replace_node(*computed.graph.producer(computed.y), ir::FullyConnected{},
                              {computed.x, computed.w, b});
  computed.then(BinaryKind::kAdd, floats({3}, {1, 2, 3}));
  EXPECT_FALSE(computed.run());
}

TEST(FuseBias, CodesTakeABiasButNoScale) {
  for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kMul}) {
    BiasedLayer layer(false);
    ir::EncodedTensor codes{{3, 2}, ir::test::odd_encoding(), numerics::BitPlanes(3, 2, 2)};
    const ValueId w = layer.graph.add_constant("codes", std::move(codes));
    layer.graph.replace_node(*layer.graph.producer(layer.y), ir::FullyConnected{},
                             {layer.x, w, kAbsent});
    layer.then(kind, floats({3}, {2, 3, 4}));
    EXPECT_EQ(layer.run(), kind == BinaryKind::kAdd);
  }
}

TEST(FuseBias, IsSafeOnRandomGraphs) { test::expect_safe_on_random_graphs(fuse_bias); }

}  // namespace
}  // namespace halftone::passes

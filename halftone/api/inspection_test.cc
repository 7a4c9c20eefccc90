// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

using ir::ElementType;

ir::Graph small_network() {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ElementType::kFloat32, {ir::kBatch, 4}));
  const std::vector<float> a = {0.5F, 1.0F};
  const auto bases =
      numerics::basis_encoding(std::vector<numerics::Basis>(3, numerics::make_basis(a)), false,
                               numerics::Granularity::kChannel);
  ir::EncodedTensor encoded{{3, 4},
                            std::make_shared<const numerics::MatrixEncoding>(bases),
                            numerics::BitPlanes(3, 4, 2)};
  const auto w = graph.add_constant("w", std::move(encoded));
  const auto hidden = graph.add_node("first", ir::FullyConnected{}, {x, w});
  ir::Tensor integers(ElementType::kInt8, {2, 3});
  const auto q = graph.add_constant("q", std::move(integers));
  const auto scaled = graph.add_node("dequantize", ir::DequantizeLinear{{{0.5F}, {0}, 0}}, {q});
  graph.add_output(graph.add_node("second", ir::FullyConnected{}, {hidden, scaled}));
  return graph;
}

TEST(Inspect, CountsParametersOperatorsAndBits) {
  const Inspection inspection = inspect(small_network(), "circle", 1234);
  EXPECT_EQ(inspection.parameters, 12u + 6u);
  EXPECT_THAT(inspection.operators, testing::ElementsAre(testing::Pair("DequantizeLinear", 1u),
                                                         testing::Pair("FullyConnected", 2u)));
  ASSERT_EQ(inspection.layers.size(), 2u);
  EXPECT_EQ(inspection.layers[0].weight_bits, 2);
  EXPECT_EQ(inspection.layers[0].activation_bits, 32);
  EXPECT_EQ(inspection.layers[0].arithmetic, ir::Arithmetic::kIntegers);
  EXPECT_EQ(inspection.layers[1].arithmetic, std::nullopt) << "integers have no choice";
  EXPECT_EQ(inspection.layers[1].weight_bits, 8) << "integers count through DequantizeLinear";
  EXPECT_EQ(inspection.inputs[0].type.shape, (ir::Shape{ir::kBatch, 4}));
  EXPECT_EQ(inspection.outputs[0].name, "second");
}

TEST(Inspect, ListsEveryLayerThatHasWeights) {
  Random random(1);
  const auto floats = [&](ir::Shape shape) { return ir::test::random_tensor(shape, random); };
  ir::Graph graph;
  const auto i = graph.add_input("i", ir::dense_type(ElementType::kInt64, {ir::kBatch, 3}));
  ir::EncodedTensor codes{{7, 4}, ir::test::odd_encoding(), numerics::BitPlanes(7, 4, 2)};
  const auto table = graph.add_constant("table", std::move(codes));
  const auto rows = graph.add_node("rows", ir::Gather{0}, {table, i});
  const auto kernel = graph.add_constant("kernel", floats({4, 3, 4}));
  const auto image = graph.add_node("conv", ir::Conv{{{1}, {1}, {1}, {1}}, 1, {}}, {rows, kernel});
  ir::Recurrent recurrent;
  recurrent.kind = ir::RecurrentKind::kRnn;
  recurrent.batch_major = true;
  recurrent.state_encoding = ir::test::odd_encoding();
  const auto r = graph.add_constant("r", floats({4, 4}));
  graph.add_output(graph.add_node("states", recurrent, {image, r}));
  const auto indices = graph.add_constant("indices", ir::Tensor(ElementType::kInt32, {7, 2}));
  graph.add_output(graph.add_node("other", ir::Gather{0}, {indices, i}));
  const Inspection inspection = inspect(graph, "onnx", 1);
  ASSERT_EQ(inspection.layers.size(), 3u) << "a table of integers is no layer";
  EXPECT_EQ(inspection.layers[0].op, "Gather");
  EXPECT_EQ(inspection.layers[0].weight_bits, 2);
  EXPECT_EQ(inspection.layers[0].activation_bits, 32);
  EXPECT_EQ(inspection.layers[0].weight_bytes, 7u * 2 + 2 * sizeof(std::uint16_t));
  EXPECT_EQ(inspection.layers[0].arithmetic, std::nullopt);
  EXPECT_EQ(inspection.layers[1].op, "Conv");
  EXPECT_EQ(inspection.layers[1].arithmetic, ir::Arithmetic::kFloat);
  EXPECT_EQ(inspection.layers[2].op, "Recurrent");
  EXPECT_EQ(inspection.layers[2].activation_bits, 2);
}

}  // namespace
}  // namespace halftone

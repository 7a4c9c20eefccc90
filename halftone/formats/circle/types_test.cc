// SPDX-License-Identifier: Apache-2.0
// Types of tensors and operators that few files have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ir::Tensor read(schema::TensorType type, const ir::Shape& shape, std::vector<unsigned> bytes) {
  std::vector<std::byte> data;
  for (const unsigned byte : bytes) data.push_back(static_cast<std::byte>(byte));
  return read_tensor(type, shape, own_bytes(std::move(data)));
}

TEST(PackedIntegers, BeginWithTheLowestBits) {
  using schema::TensorType;
  EXPECT_THAT(ir::test::elements<std::int8_t>(read(TensorType::INT4, {3}, {0x8F, 0x07})),
              ElementsAre(-1, -8, 7));
  EXPECT_THAT(ir::test::elements<std::uint8_t>(read(TensorType::UINT4, {2}, {0x8F})),
              ElementsAre(15, 8));
  EXPECT_THAT(ir::test::elements<std::int8_t>(read(TensorType::INT2, {4}, {0xE4})),
              ElementsAre(0, 1, -2, -1));
  halftone::expect_error(ErrorKind::kFormat, "expected 2 bytes, found 1",
                         [] { read(TensorType::INT4, {3}, {0x8F}); });
}

/// x [N, 2] in codes of the scale, a layer and codes.
ir::Graph layer_of_codes(float scale) {
  ir::Graph graph;
  const auto int8 = [](const ir::Shape& shape) {
    return ir::dense_type(ir::ElementType::kInt8, shape);
  };
  const auto x = graph.add_input("x", int8({kBatch, 2}));
  ir::Tensor codes(ir::ElementType::kInt8, {3, 2});
  for (std::size_t i = 0; i < 6; ++i) codes.as<std::int8_t>()[i] = static_cast<std::int8_t>(i);
  const auto w = graph.add_node("w/numbers", ir::DequantizeLinear{{{1}, {0}, 0}},
                                {graph.add_constant("w", std::move(codes))});
  const auto numbers = graph.add_node("numbers", ir::DequantizeLinear{{{scale}, {0}, 0}}, {x});
  const auto y = graph.add_node("layer", ir::FullyConnected{}, {numbers, w});
  graph.add_output(graph.add_node(
      "y", ir::QuantizeLinear{{{1}, {0}, 0}, ir::ElementType::kInt8, ir::CodeRounding::kHalfAway},
      {y}));
  return graph;
}

TEST(Requantization, IsWrittenInFloatWhereItsFactorIsTooLarge) {
  const auto count = [](float scale) {
    const auto file = export_circle(layer_of_codes(scale), CircleFlavor::kTflite);
    return unpacked(file).subgraphs[0]->operators.size();
  };
  EXPECT_EQ(count(255), 1U);
  EXPECT_EQ(count(256), 4U);  // two DEQUANTIZE, FULLY_CONNECTED, QUANTIZE
}

TEST(MediaPipe, TransposedConvolutionsTakeTheRestOfTheStridesOff) {
  FileBuilder file;
  const auto x = file.tensor({{1, 1, 2, 1}});
  const auto w =
      file.tensor(constant_tensor<float>({1, 1, 3, 1}, schema::TensorType::FLOAT32, {1, 2, 4}));
  const auto b = file.tensor(constant_tensor<float>({1}, schema::TensorType::FLOAT32, {0.5F}));
  const auto y = file.computed(OperatorCode::kCustom, {x, w, b}, {{1, 1, 4, 1}});
  file.ends({x}, {y});
  file.model().operator_codes[0]->custom_code = "Convolution2DTransposeBias";
  const std::vector<std::int32_t> options = {1, 2, 1};  // SAME, strides along width and height
  std::vector<std::uint8_t> bytes(12);
  std::memcpy(bytes.data(), options.data(), bytes.size());
  file.model().subgraphs[0]->operators[0]->custom_options = bytes;
  const ir::Graph graph = import_circle(file.bytes());
  // 1 and 10 scattered by 2 reach [1, 2, 14, 20, 40]; 3 - 1 % 2 - 1 = 1 goes off the back.
  const auto outputs = run_reference(graph, ir::test::list(floats({1, 1, 2, 1}, {1, 10})));
  EXPECT_THAT(ir::test::elements<float>(outputs[0]), ElementsAre(1.5F, 2.5F, 14.5F, 20.5F));
}

}  // namespace
}  // namespace halftone::formats::circle

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "halftone/base/half.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using numerics::Granularity;
using numerics::MatrixEncoding;

/// The golden case of the learned-quantization fork: 5 inputs, 2 bits, 4 neurons of 3 bits.
ir::Graph golden_network(bool bias, ir::ActivationKind activation) {
  constexpr int kWords[4][3] = {{7, 13, 20}, {4, 15, 3}, {31, 17, 11}, {22, 19, 2}};
  constexpr float kScales[4][3] = {
      {.11F, .23F, .31F}, {.23F, .41F, .53F}, {.13F, .22F, .46F}, {.32F, .33F, .35F}};
  std::vector<numerics::Basis> bases;
  ir::EncodedTensor weights;
  weights.shape = {4, 5};
  weights.codes = numerics::BitPlanes(4, 5, 3);
  for (std::size_t o = 0; o < 4; ++o) {
    bases.push_back(numerics::make_basis(kScales[o]));
    for (std::size_t k = 0; k < 5; ++k) {
      int code = 0;
      for (int j = 0; j < 3; ++j) code |= (kWords[o][j] >> k & 1) << j;
      weights.codes.set_code(o, k, static_cast<numerics::Code>(code));
    }
  }
  weights.encoding = std::make_shared<const MatrixEncoding>(
      numerics::basis_encoding(bases, false, Granularity::kChannel));
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 5}));
  const std::array<float, 2> a = {0.12F, 1.7F};
  const auto codes = graph.add_node("encode",
                                    ir::Encode{std::make_shared<const MatrixEncoding>(
                                        numerics::tensor_encoding(numerics::make_basis(a)))},
                                    {x});
  std::vector<ir::ValueId> inputs = {codes, graph.add_constant("w", std::move(weights))};
  if (bias) inputs.push_back(graph.add_constant("b", floats({4}, {-1.1F, -5, -0.3F, 2.8F})));
  graph.add_output(graph.add_node("y", ir::FullyConnected{{activation, 0, 0}}, inputs));
  return graph;
}

template <typename T>
std::vector<T> numbers(const schema::ModelT& model, std::size_t tensor) {
  const auto& data = model.buffers[model.subgraphs[0]->tensors[tensor]->buffer]->data;
  std::vector<T> result(data.size() / sizeof(T));
  std::memcpy(result.data(), data.data(), data.size());
  return result;
}

TEST(LqFullyConnected, WritesTheGoldenCaseByteForByte) {
  const auto bytes =
      export_circle(golden_network(true, ir::ActivationKind::kIdentity), CircleFlavor::kCircle);
  EXPECT_EQ(circle_flavor(bytes), CircleFlavor::kCircle);
  const schema::ModelT model = unpacked(bytes);
  EXPECT_EQ(model.version, 0U);
  ASSERT_EQ(model.operator_codes.size(), 1U);
  EXPECT_EQ(model.operator_codes[0]->deprecated_builtin_code, -56);
  EXPECT_EQ(model.operator_codes[0]->builtin_code, 0);
  const schema::SubGraphT& graph = *model.subgraphs[0];
  ASSERT_EQ(graph.operators.size(), 1U);
  const schema::OperatorT& op = *graph.operators[0];
  EXPECT_EQ(static_cast<int>(op.builtin_options.type), 200);
  EXPECT_EQ(op.builtin_options.AsLQFullyConnectedOptions()->weights_hidden_size, 5);
  ASSERT_EQ(op.inputs.size(), 5U);
  const auto tensor = [&](std::size_t i) { return static_cast<std::size_t>(op.inputs[i]); };
  EXPECT_EQ(numbers<float>(model, tensor(1)), (std::vector{0.12F, 1.7F}));
  EXPECT_EQ(numbers<float>(model, tensor(2)),
            (std::vector{.11F, .23F, .31F, .23F, .41F, .53F, .13F, .22F, .46F, .32F, .33F, .35F}));
  EXPECT_EQ(numbers<std::int32_t>(model, tensor(3)),
            (std::vector<std::int32_t>{7, 13, 20, 4, 15, 3, 31, 17, 11, 22, 19, 2}));
  EXPECT_EQ(numbers<float>(model, tensor(4)), (std::vector{-1.1F, -5.0F, -0.3F, 2.8F}));
  EXPECT_EQ(graph.tensors[tensor(3)]->shape, (std::vector<std::int32_t>{4, 3, 1}));
  EXPECT_EQ(graph.tensors[tensor(3)]->type, schema::TensorType::INT32);
  EXPECT_EQ(graph.tensors[tensor(0)]->shape, (std::vector<std::int32_t>{1, 5}));
  EXPECT_EQ(graph.tensors[tensor(0)]->shape_signature, (std::vector<std::int32_t>{-1, 5}));
}

TEST(LqFullyConnected, ComputesTheGoldenOutputsAfterImport) {
  struct {
    bool bias;
    ir::ActivationKind activation;
    std::array<float, 4> expected;
  } const cases[] = {
      {true, ir::ActivationKind::kIdentity, {-0.2014F, -0.1546F, 0.1526F, 4.2936F}},
      {false, ir::ActivationKind::kRelu, {0.8986F, 4.8454F, 0.4526F, 1.4936F}},
  };
  for (const auto& each : cases) {
    const ir::Graph graph =
        round_trip(golden_network(each.bias, each.activation), CircleFlavor::kCircle);
    std::vector<ir::Tensor> inputs;
    inputs.push_back(floats({1, 5}, {0.5F, 1.2F, 2.3F, -1, 0}));
    const auto outputs = run_reference(graph, inputs);
    for (std::size_t o = 0; o < 4; ++o) {
      EXPECT_NEAR(outputs[0].as<float>()[o], each.expected[o], 1e-5F);
    }
  }
}

TEST(LqFullyConnected, CarriesEveryFusedActivation) {
  for (const auto kind :
       {ir::ActivationKind::kIdentity, ir::ActivationKind::kRelu, ir::ActivationKind::kReluN1To1,
        ir::ActivationKind::kRelu6, ir::ActivationKind::kTanh, ir::ActivationKind::kSignBit}) {
    const ir::Graph graph = round_trip(golden_network(true, kind), CircleFlavor::kCircle);
    const auto& node = graph.node(*graph.producer(graph.outputs()[0]));
    EXPECT_EQ(std::get<ir::FullyConnected>(node.op).activation.kind, kind);
  }
}

/// A layer [N, n] -> o with these encodings; 0 bits: float.
ir::Graph one_layer(const MatrixEncoding& weights, int activation_bits, bool activation_offset,
                    bool exact_in_half, std::size_t n = 21) {
  Random random(31);
  ir::Graph graph;
  const auto extent = static_cast<ir::Dim>(n);
  auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, extent}));
  if (activation_bits > 0) {
    MatrixEncoding encoding;
    encoding.bits = activation_bits;
    encoding.has_offset = activation_offset;
    encoding = *random_encoded(random, 1, 1, encoding).encoding;
    if (exact_in_half) {
      numerics::Basis basis = encoding.basis(0);
      for (float& a : basis.coefficients) a = float_from_half(half_from_float(a));
      basis.offset = float_from_half(half_from_float(basis.offset));
      encoding.set_levels(0, basis);
    }
    x = graph.add_node(
        "encode", ir::Encode{std::make_shared<const MatrixEncoding>(std::move(encoding))}, {x});
  }
  const auto w = weights.bits > 0
                     ? graph.add_constant("w", random_encoded(random, 6, extent, weights))
                     : graph.add_constant("w", random_tensor({6, extent}, random));
  graph.add_output(
      graph.add_node("y", ir::FullyConnected{{ir::ActivationKind::kTanh, 0, 0}}, {x, w}));
  return graph;
}

void expect_same_layer(const ir::Graph& expected, const ir::Graph& found) {
  const auto parts = [](const ir::Graph& graph) {
    const ir::Node& node = graph.node(*graph.producer(graph.outputs()[0]));
    return std::tuple(std::get<ir::FullyConnected>(node.op), graph.value(node.inputs[0]).type,
                      graph.value(node.inputs[1]).type);
  };
  EXPECT_EQ(parts(expected), parts(found));
  expect_same_function(found, expected);
}

std::vector<MatrixEncoding> weight_encodings(bool has_offset) {
  std::vector<MatrixEncoding> encodings;
  for (const int bits : {1, 3, 8}) {
    for (const auto granularity :
         {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
      MatrixEncoding encoding;
      encoding.bits = bits;
      encoding.has_offset = has_offset;
      encoding.granularity = granularity;
      encoding.group_size = granularity == Granularity::kGroup ? 8 : 0;
      encodings.push_back(encoding);
    }
  }
  return encodings;
}

TEST(CustomFullyConnected, RoundTripAtEveryGranularity) {
  for (const bool weight_offset : {false, true}) {
    for (const bool activation_offset : {false, true}) {
      for (const bool exact : {false, true}) {
        for (const MatrixEncoding& weights : weight_encodings(weight_offset)) {
          const ir::Graph graph = one_layer(weights, 2, activation_offset, exact);
          expect_same_layer(graph, round_trip(graph, CircleFlavor::kTflite));
        }
      }
    }
  }
}

TEST(CustomFullyConnected, RoundTripWithFloatWeightsOrFloatInput) {
  MatrixEncoding none;
  none.bits = 0;
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    const ir::Graph float_weights = one_layer(none, 3, true, false);
    expect_same_layer(float_weights, round_trip(float_weights, flavor));
    const ir::Graph float_input = one_layer(weight_encodings(true)[4], 0, false, false);
    expect_same_layer(float_input, round_trip(float_input, flavor));
  }
}

TEST(CustomFullyConnected, RoundTripForEveryTail) {
  for (std::size_t n = 1; n <= 70; ++n) {
    const ir::Graph graph = one_layer(weight_encodings(true)[1], 1, false, false, n);
    expect_same_layer(graph, round_trip(graph, CircleFlavor::kCircle));
    const ir::Graph plain = one_layer(weight_encodings(false)[1], 1, false, false, n);
    expect_same_layer(plain, round_trip(plain, CircleFlavor::kCircle));
  }
}

TEST(CustomFullyConnected, IsWrittenToCircleIfLqWouldBeLossy) {
  const auto codes = [](const ir::Graph& graph) {
    const auto model = unpacked(export_circle(graph, CircleFlavor::kCircle));
    return static_cast<int>(model.operator_codes[0]->deprecated_builtin_code);
  };
  constexpr int kLq = -56;
  constexpr int kCustom = 32;
  EXPECT_EQ(codes(one_layer(weight_encodings(false)[0], 2, false, false)), kLq);
  EXPECT_EQ(codes(one_layer(weight_encodings(false)[1], 2, false, false)), kLq);
  EXPECT_EQ(codes(one_layer(weight_encodings(false)[2], 2, false, false)), kCustom);
  EXPECT_EQ(codes(one_layer(weight_encodings(true)[1], 2, false, false)), kCustom);
  EXPECT_EQ(codes(one_layer(weight_encodings(false)[1], 2, true, false)), kCustom);
  EXPECT_EQ(codes(one_layer(weight_encodings(false)[1], 0, false, false)), kCustom);
}

TEST(CustomFullyConnected, IsWrittenToCircleForAnArithmeticAgainstTheRule) {
  for (const auto arithmetic :
       {ir::Arithmetic::kBits, ir::Arithmetic::kIntegers, ir::Arithmetic::kFloat}) {
    ir::Graph graph = one_layer(weight_encodings(false)[1], 2, false, false);
    const ir::NodeId layer = *graph.producer(graph.outputs()[0]);
    ir::Operator op = graph.node(layer).op;
    *ir::arithmetic(op) = arithmetic;
    graph.replace_node(layer, std::move(op), graph.node(layer).inputs);
    const auto model = unpacked(export_circle(graph, CircleFlavor::kCircle));
    const bool is_custom = model.operator_codes[0]->deprecated_builtin_code == 32;
    EXPECT_EQ(is_custom, arithmetic != ir::arithmetic_by_rule(graph, graph.node(layer)));
    const ir::Graph back = round_trip(graph, CircleFlavor::kCircle);
    EXPECT_EQ(ir::arithmetic_of(back, back.node(*back.producer(back.outputs()[0]))), arithmetic);
  }
}

TEST(CustomFullyConnected, KeepsBasesInHalfPrecisionOnlyWhereExact) {
  for (const bool exact : {false, true}) {
    MatrixEncoding none;
    none.bits = 0;
    const auto model =
        unpacked(export_circle(one_layer(none, 3, true, exact), CircleFlavor::kTflite));
    const auto basis = static_cast<std::size_t>(model.subgraphs[0]->operators[0]->inputs[1]);
    EXPECT_EQ(model.subgraphs[0]->tensors[basis]->type,
              exact ? schema::TensorType::FLOAT16 : schema::TensorType::FLOAT32);
  }
}

TEST(CustomFullyConnected, TensorBasisComesBackPerChannelFromLq) {
  const ir::Graph graph = one_layer(weight_encodings(false)[0], 2, false, false);
  const ir::Graph back = round_trip(graph, CircleFlavor::kCircle);
  const ir::Node& node = back.node(*back.producer(back.outputs()[0]));
  const auto& encoding = back.value(node.inputs[1]).type.encoding;
  EXPECT_EQ(encoding.codes->granularity, Granularity::kChannel);
  expect_same_function(back, graph);
}

TEST(CustomFullyConnected, RefusesCodesThatNoLayerReads) {
  ir::Graph graph = one_layer(weight_encodings(true)[1], 2, false, false);
  const ir::Node& node = graph.node(*graph.producer(graph.outputs()[0]));
  graph.add_output(node.inputs[0]);
  const Error error = error_of([&] { export_circle(graph, CircleFlavor::kTflite); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_STREQ(
      error.what(),
      "'encode': expected a dense value, found codes of a basis, which only layers can read");
}

TEST(CustomOptions, RoundTrip) {
  LowBitFields options{784, 3, 2, true, false, Granularity::kGroup, 64, 4};
  const auto bytes = write_custom_options(options);
  EXPECT_LT(bytes.size(), 180U);
  EXPECT_EQ(read_custom_options(bytes), options);
}

TEST(CustomOptions, KeepTheArithmetic) {
  for (const auto arithmetic : {ir::Arithmetic::kAuto, ir::Arithmetic::kBits,
                                ir::Arithmetic::kIntegers, ir::Arithmetic::kFloat}) {
    LowBitFields options{784, 1, 1, true, false, Granularity::kChannel, 0, 4};
    options.arithmetic = arithmetic;
    EXPECT_EQ(read_custom_options(write_custom_options(options)), options);
  }
}

TEST(CustomOptions, OfVersion1AreRead) {
  const LowBitFields options{784, 3, 4, true, false, Granularity::kGroup, 64, 4};
  auto bytes = write_custom_options(options);
  const auto version = std::ranges::find(bytes, std::byte{2});
  ASSERT_NE(version, bytes.end());
  *version = std::byte{3};
  EXPECT_STREQ(error_of([&] { read_custom_options(bytes); }).what(),
               "options: version: expected 1 to 2, found 3");
  *version = std::byte{1};
  EXPECT_EQ(read_custom_options(bytes), options);
}

TEST(CustomOptions, RejectOtherTypesThanMaps) {
  const Error empty = error_of([] { read_custom_options({}); });
  EXPECT_STREQ(empty.what(), "options: expected at most 4096 bytes, found 0");
  const std::vector<std::byte> zeros(64);
  EXPECT_EQ(error_of([&] { read_custom_options(zeros); }).kind(), ErrorKind::kFormat);
}

TEST(CustomOptions, RefuseNumbersOutOfRange) {
  const LowBitFields fields{784, 9, 2, true, false, Granularity::kChannel, 0, 4};
  EXPECT_STREQ(error_of([&] { read_custom_options(write_custom_options(fields)); }).what(),
               "options: weight_bits: expected 0 to 8, found 9");
}

TEST(CustomOptions, SurviveEverySingleBitFlip) {
  const auto bytes = write_custom_options({784, 3, 2, true, false, Granularity::kGroup, 64, 4});
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      read_custom_options(flipped);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, bytes.size());
}

}  // namespace
}  // namespace halftone::formats::circle

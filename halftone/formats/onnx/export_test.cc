// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/operators_page.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/text.h"

namespace halftone::formats::onnx {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::ElementType;
using ir::Graph;
using ir::kBatch;
using ir::Shape;
using ir::ValueId;
using onnx_pb::ModelProto;
using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

ModelProto parsed(std::span<const std::byte> bytes) {
  ModelProto model;
  model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return model;
}

/// Exports, imports, and expects the same outputs from both graphs; returns the imported one.
Graph expect_round_trip(const Graph& graph, const Shape& input_shape = {2, 6}) {
  const auto bytes = export_onnx(graph);
  EXPECT_EQ(bytes, export_onnx(graph));
  Graph again = import_onnx(bytes, {});
  const auto expected = run_reference(graph, list(random_tensor(input_shape, 3)));
  const auto found = run_reference(again, list(random_tensor(input_shape, 3)));
  ir::test::expect_near(found, expected, 1e-6F, "\n" + ir::to_text(graph) + ir::to_text(again));
  return again;
}

Graph with_input(ValueId& x, const Shape& shape = {kBatch, 6}) {
  Graph graph;
  x = graph.add_input("x", ir::dense_type(ElementType::kFloat32, shape));
  return graph;
}

TEST(ExportOnnx, RoundTripOfEveryActivation) {
  for (int kind = 0; kind <= static_cast<int>(ActivationKind::kRound); ++kind) {
    const auto activation = static_cast<ActivationKind>(kind);
    if (activation == ActivationKind::kSignBit) continue;
    ValueId x{};
    Graph graph = with_input(x);
    const bool has_parameters = activation == ActivationKind::kClip ||
                                activation == ActivationKind::kSelu ||
                                activation == ActivationKind::kHardSigmoid;
    const ir::Activation function{activation, 0.25F, has_parameters ? 0.75F : 0.0F};
    graph.add_output(graph.add_node("act", ir::Unary{function}, {x}));
    SCOPED_TRACE(to_string(activation));
    expect_round_trip(graph);
  }
}

TEST(ExportOnnx, ClipWithOneBoundOmitsTheOther) {
  for (const auto& [low, high] : {std::pair{-kInfinity, 0.5F}, std::pair{0.25F, kInfinity}}) {
    ValueId x{};
    Graph graph = with_input(x);
    graph.add_output(graph.add_node("c", ir::Unary{{ActivationKind::kClip, low, high}}, {x}));
    expect_round_trip(graph);
  }
}

TEST(ExportOnnx, RoundTripOfEveryBinaryOperator) {
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kPRelu); ++kind) {
    for (const bool fused : {false, true}) {
      ValueId x{};
      Graph graph = with_input(x);
      const ValueId c = graph.add_constant("c", random_tensor({6}, 5));
      const ir::Activation tanh{ActivationKind::kTanh};
      const ir::Binary op{static_cast<BinaryKind>(kind), fused ? tanh : ir::Activation{}};
      graph.add_output(graph.add_node("pair", op, {x, c}));
      expect_round_trip(graph);
    }
  }
}

TEST(ExportOnnx, RoundTripOfLayoutOperators) {
  ValueId x{};
  Graph graph = with_input(x);
  const ValueId reshaped = graph.add_node("r", ir::Reshape{{kBatch, 2, 3}}, {x});
  const ValueId turned = graph.add_node("t", ir::Transpose{{0, 2, 1}}, {reshaped});
  const ValueId back = graph.add_node("s", ir::Slice{1, 2, -1, 3}, {turned});
  const ValueId part = graph.add_node("p", ir::Slice{1, 0, 2, 2}, {back});
  const ValueId empty = graph.add_node("e", ir::Slice{1, 0, 1, 0}, {back});
  graph.add_output(graph.add_node("joined", ir::Concat{1}, {back, part, empty}));
  graph.add_output(graph.add_node("late", ir::Reshape{{3, kBatch, 2}}, {turned}));
  expect_round_trip(graph);
}

TEST(ExportOnnx, ReshapeToNothingIsAllowed) {
  ValueId x{};
  Graph graph = with_input(x, {2, 6});
  const ValueId nothing = graph.add_node("e", ir::Slice{1, 0, 1, 0}, {x});
  graph.add_output(graph.add_node("r", ir::Reshape{{5, 0}}, {nothing}));
  expect_round_trip(graph);
}

TEST(ExportOnnx, RoundTripOfSoftmaxCastAndScales) {
  ValueId x{};
  Graph graph = with_input(x);
  graph.add_output(graph.add_node("soft", ir::Softmax{1, 2.0F, false}, {x}));
  graph.add_output(graph.add_node("log", ir::Softmax{1, 1.0F, true}, {x}));
  graph.add_output(graph.add_node("int", ir::Cast{ElementType::kInt32}, {x}));
  const ir::AffineParameters one{{0.1F}, {3}, 0};
  const ir::AffineParameters many{{1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5}, 1};
  const ValueId q = graph.add_node("q", ir::QuantizeLinear{one, ElementType::kInt8}, {x});
  graph.add_output(graph.add_node("d", ir::DequantizeLinear{one}, {q}));
  graph.add_output(graph.add_node("qs", ir::QuantizeLinear{many, ElementType::kUint8}, {x}));
  expect_round_trip(graph);
}

TEST(ExportOnnx, RoundTripOfMatMulWithTransposes) {
  ValueId x{};
  Graph graph = with_input(x);
  const ValueId product = graph.add_node("g", ir::MatMul{true, false}, {x, x});
  const ValueId c = graph.add_constant("c", random_tensor({3, 6}, 5));
  graph.add_output(graph.add_node("h", ir::MatMul{false, true}, {product, c}));
  expect_round_trip(graph);
}

TEST(ExportOnnx, FullyConnectedIsOneGemmForMatrices) {
  ValueId x{};
  Graph graph = with_input(x);
  const ValueId w = graph.add_constant("w", random_tensor({4, 6}, 1));
  const ValueId b = graph.add_constant("b", random_tensor({4}, 2));
  graph.add_output(graph.add_node("fc", ir::FullyConnected{}, {x, w, b}));
  const auto model = parsed(export_onnx(graph));
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).op_type(), "Gemm");
  EXPECT_EQ(model.graph().node(0).name(), "fc");
  EXPECT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(model.ir_version(), 8);
  const Graph again = expect_round_trip(graph);
  EXPECT_EQ(ir::to_text(again), ir::to_text(graph));
}

TEST(ExportOnnx, FullyConnectedOfOtherRanksIsAMatMul) {
  for (const Shape& shape : {Shape{6}, Shape{2, 3, 6}}) {
    ValueId x{};
    Graph graph = with_input(x, shape);
    const ValueId w = graph.add_constant("w", random_tensor({4, 6}, 1));
    const ValueId b = graph.add_constant("b", random_tensor({4}, 2));
    const ir::FullyConnected op{{ActivationKind::kRelu}};
    const ValueId h = graph.add_node("fc", op, {x, w, b});
    graph.add_output(h);
    const ValueId w2 = graph.add_constant("w2", random_tensor({2, 4}, 1).cast(ElementType::kInt8));
    const ValueId wf = graph.add_node("wf", ir::DequantizeLinear{{{0.5F}, {0}, 0}}, {w2});
    graph.add_output(graph.add_node("fc2", ir::FullyConnected{}, {h, wf}));
    expect_round_trip(graph, shape);
  }
}

TEST(ExportOnnx, LaterOperatorsRaiseTheOperatorSet) {
  ValueId x{};
  Graph graph = with_input(x);
  graph.add_output(graph.add_node("g", ir::Unary{{ActivationKind::kGelu}}, {x}));
  const auto model = parsed(export_onnx(graph));
  EXPECT_EQ(model.opset_import(0).version(), 20);
  EXPECT_EQ(model.ir_version(), 9);
}

TEST(ExportOnnx, NamesAreUniqueAndInputsKeepTheirs) {
  ValueId x{};
  Graph graph = with_input(x);
  const ValueId c = graph.add_constant("x", random_tensor({6}, 5));
  const ValueId a = graph.add_node("same", ir::Binary{BinaryKind::kAdd, {}}, {x, c});
  graph.add_output(graph.add_node("same", ir::Binary{BinaryKind::kMul, {}}, {a, c}));
  const auto model = parsed(export_onnx(graph));
  EXPECT_EQ(model.graph().input(0).name(), "x");
  EXPECT_EQ(model.graph().output(0).name(), "same");
  EXPECT_EQ(model.graph().node(0).name(), "same");
  EXPECT_EQ(model.graph().node(1).name(), "same_1");
  expect_round_trip(graph);
}

TEST(ExportOnnx, InputsAndConstantsAreOutputsUnderTheirNames) {
  ValueId x{};
  Graph graph = with_input(x);
  graph.add_output(x);
  graph.add_output(graph.add_node("y", ir::Unary{{ActivationKind::kRelu}}, {x}));
  graph.add_output(graph.add_constant("c", random_tensor({2}, 5)));
  const auto model = parsed(export_onnx(graph));
  std::vector<std::string> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  EXPECT_EQ(names, (std::vector<std::string>{"x", "y", "c"}));
  expect_round_trip(graph);
}

TEST(ExportOnnx, RefusesToChangeNamesOfInputsAndOutputs) {
  const auto refused = [](const Graph& graph, const std::string& text) {
    ir::test::expect_error(ErrorKind::kUnsupported, text, [&] { export_onnx(graph); });
  };
  ValueId x{};
  Graph twice = with_input(x);
  const ValueId y = twice.add_node("y", ir::Unary{{ActivationKind::kRelu}}, {x});
  twice.add_output(y);
  twice.add_output(y);
  refused(twice, "output 'y' is listed twice");
  Graph same = with_input(x);
  same.add_output(same.add_node("x", ir::Unary{{ActivationKind::kRelu}}, {x}));
  refused(same, "output 'x' has the name of another input or output");
}

TEST(ImportOnnx, OutputsOfOneValueKeepTheirNames) {
  TestModel model;
  model.input("x", {-1, 4}).floats("c", {2}, {1, 2});
  model.node("Relu", {"x"}, {"h"});
  model.node("Identity", {"h"}, {"h2"});
  model.node("Identity", {"x"}, {"x2"});
  model.node("Identity", {"c"}, {"c2"});
  model.node("Dropout", {"h"}, {"h3"});
  const std::vector<std::string> expected = {"x", "h3", "h2", "h", "x2", "c2"};
  for (const std::string& name : expected) model.output(name);
  const auto written = parsed(export_onnx(model.import()));
  std::vector<std::string> names;
  for (const auto& output : written.graph().output()) names.push_back(output.name());
  EXPECT_EQ(names, expected);
}

// The layer in a basis.

std::shared_ptr<const numerics::MatrixEncoding> weight_encoding(numerics::Granularity granularity,
                                                                int bits, bool offset) {
  numerics::MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.has_offset = offset;
  encoding.granularity = granularity;
  encoding.group_size = granularity == numerics::Granularity::kGroup ? 4 : 0;
  encoding.allocate(5, 11);
  for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
    std::vector<float> a;
    for (int k = 0; k < bits; ++k)
      a.push_back(0.1F * static_cast<float>(i + 1) + static_cast<float>(k));
    encoding.set_levels(i, numerics::make_basis(a, offset ? 0.3F : 0.0F));
  }
  return std::make_shared<const numerics::MatrixEncoding>(encoding);
}

ir::EncodedTensor encoded_weight(std::shared_ptr<const numerics::MatrixEncoding> encoding) {
  const ir::Tensor dense = random_tensor({5, 11}, 9);
  const MatrixView<const float> view(dense.as<float>(), 5, 11);
  return {{5, 11}, encoding, numerics::encode(view, *encoding)};
}

struct Basis {
  int weight_bits;
  int input_bits;
  bool offset;
  numerics::Granularity granularity = numerics::Granularity::kChannel;
  ActivationKind activation = ActivationKind::kIdentity;
};

Graph basis_graph(const Basis& basis) {
  ValueId x{};
  Graph graph = with_input(x, {kBatch, 11});
  if (basis.input_bits > 0) {
    std::vector<float> a{0.5F, 0.25F, 1.3F};
    a.resize(static_cast<std::size_t>(basis.input_bits));
    auto encoding = numerics::tensor_encoding(numerics::make_basis(a, basis.offset ? 0.1F : 0.0F));
    encoding.has_offset = basis.offset;
    x = graph.add_node("fc/encode",
                       ir::Encode{std::make_shared<const numerics::MatrixEncoding>(encoding)}, {x});
  }
  const ValueId w =
      basis.weight_bits == 0
          ? graph.add_constant("w", random_tensor({5, 11}, 9))
          : graph.add_constant("w", encoded_weight(weight_encoding(
                                        basis.granularity, basis.weight_bits, basis.offset)));
  const ValueId b = graph.add_constant("b", random_tensor({5}, 2));
  graph.add_output(graph.add_node("fc", ir::FullyConnected{{basis.activation}}, {x, w, b}));
  return graph;
}

TEST(FullyConnectedInABasis, ComesBackExactly) {
  using numerics::Granularity;
  for (const auto granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    for (const bool offset : {false, true}) {
      for (const auto& [weight_bits, input_bits] : {std::pair{1, 1}, {3, 2}, {8, 0}, {0, 3}}) {
        const Graph graph = basis_graph({weight_bits, input_bits, offset, granularity});
        const Graph again = expect_round_trip(graph, {2, 11});
        const auto order = again.topological_order();
        const auto& layer = again.node(order.back());
        EXPECT_EQ(layer.name, "fc");
        EXPECT_EQ(order.size(), input_bits == 0 ? 1U : 2U);
        const ir::Graph& before = graph;
        const auto& old_layer = before.node(before.topological_order().back());
        EXPECT_EQ(again.value(layer.inputs[1]).type, before.value(old_layer.inputs[1]).type);
        EXPECT_EQ(again.value(layer.inputs[0]).type, before.value(old_layer.inputs[0]).type);
      }
    }
  }
}

TEST(FullyConnectedInABasis, FusesTheActivationsThatHaveACode) {
  const Graph fused = basis_graph({2, 2, false, {}, ActivationKind::kTanh});
  EXPECT_EQ(parsed(export_onnx(fused)).graph().node_size(), 1);
  expect_round_trip(fused, {2, 11});
  const Graph sign = basis_graph({2, 2, false, {}, ActivationKind::kSignBit});
  expect_round_trip(sign, {2, 11});
  const Graph separate = basis_graph({2, 2, false, {}, ActivationKind::kSigmoid});
  EXPECT_EQ(parsed(export_onnx(separate)).graph().node_size(), 2);
  expect_round_trip(separate, {2, 11});
}

TEST(FullyConnectedInABasis, FileHoldsBitsAndSmallBases) {
  const auto model = parsed(export_onnx(basis_graph({2, 3, true})));
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "ai.halftone");
  EXPECT_EQ(model.graph().node(0).domain(), "ai.halftone");
  std::map<std::string, TensorProto> initializers;
  for (const TensorProto& proto : model.graph().initializer()) initializers[proto.name()] = proto;
  const auto& inputs = model.graph().node(0).input();
  EXPECT_THAT(initializers.at(inputs[1]).dims(), ElementsAre(4));
  EXPECT_THAT(initializers.at(inputs[2]).dims(), ElementsAre(5, 3));
  EXPECT_THAT(initializers.at(inputs[3]).dims(), ElementsAre(5, 2, 2));
  EXPECT_EQ(initializers.at(inputs[3]).data_type(), TensorProto::UINT8);
}

/// Damages an exported model. Returns the error message of its import.
std::string damaged(const std::function<void(onnx_pb::GraphProto&)>& damage, ErrorKind& kind) {
  ModelProto model = parsed(export_onnx(basis_graph({2, 3, true, numerics::Granularity::kGroup})));
  damage(*model.mutable_graph());
  const std::string text = model.SerializeAsString();
  return import_failure(std::as_bytes(std::span(text)), kind);
}

void set_int(onnx_pb::GraphProto& graph, const std::string& name, std::int64_t value) {
  for (auto& attribute : *graph.mutable_node(0)->mutable_attribute()) {
    if (attribute.name() == name) attribute.set_i(value);
  }
}

TensorProto& initializer(onnx_pb::GraphProto& graph, int input) {
  for (auto& proto : *graph.mutable_initializer()) {
    if (proto.name() == graph.node(0).input(input)) return proto;
  }
  throw Error(ErrorKind::kInternal, "no such initializer");
}

TEST(FullyConnectedInABasis, OfVersion1HasNoArithmetic) {
  const Graph graph = basis_graph({2, 3, true});
  ModelProto model = parsed(export_onnx(graph));
  set_int(*model.mutable_graph(), "version", 1);
  const std::string text = model.SerializeAsString();
  const Graph read = import_onnx(std::as_bytes(std::span(text)), {});
  const ir::Node& layer = read.node(*read.producer(read.outputs()[0]));
  EXPECT_EQ(*ir::arithmetic(layer.op), ir::Arithmetic::kAuto);
  ir::test::expect_same_function(read, graph);
}

TEST(FullyConnectedInABasis, DamagedNodesAreRefused) {
  struct Damage {
    std::function<void(onnx_pb::GraphProto&)> apply;
    std::string text;
  };
  const auto attribute = [](const char* name, std::int64_t value) {
    return [name, value](onnx_pb::GraphProto& graph) { set_int(graph, name, value); };
  };
  const std::vector<Damage> damages{
      {attribute("version", 3), "version: expected 1 to 2, found 3"},
      {[](onnx_pb::GraphProto& graph) {
         set_attribute(*graph.mutable_node(0), "arithmetic", std::string_view("int4"));
       },
       "arithmetic: expected auto, bits, integers or float, found 'int4'"},
      {attribute("weight_bits", 9), "weight_bits: expected 0 to 8, found 9"},
      {attribute("activation_bits", -1), "activation_bits: expected 0 to 8, found -1"},
      {attribute("inputs", std::int64_t{1} << 41), "inputs: expected 0 to 1099511627776"},
      {attribute("inputs", 30),
       "bit planes: expected uint8 [outputs, 2, 4] for 30 inputs, found uint8[5, 2, 2]"},
      {attribute("inputs", 12), "does not fit weights [5, 12]"},
      {attribute("group_size", 0), "group_size 0 does not go with granularity group"},
      {attribute("group_size", 3), "coefficients"},
      {attribute("activation", 6), "activation: expected 0 to 5, found 6"},
      {attribute("weight_offset", 0),
       "scales of the weights: expected rows of 2 numbers, found [15, 3]"},
      {[](onnx_pb::GraphProto& graph) {
         graph.mutable_node(0)->mutable_attribute(6)->set_s("row");
       },
       "granularity: expected tensor, channel or group, found 'row'"},
      {[](onnx_pb::GraphProto& graph) {
         TensorProto& basis = initializer(graph, 1);
         const auto dims = basis.dims(0);
         basis = encode_tensor(floats({dims}, std::vector<float>(4, std::nanf(""))));
         basis.set_name(graph.node(0).input(1));
       },
       "scales of the input: expected finite numbers, found NaN"},
      {[](onnx_pb::GraphProto& graph) {
         TensorProto& planes = initializer(graph, 3);
         planes.set_data_type(TensorProto::INT8);
       },
       "bit planes: expected uint8 [outputs, 2, 2] for 11 inputs, found int8[5, 2, 2]"},
      {[](onnx_pb::GraphProto& graph) {
         TensorProto& basis = initializer(graph, 1);
         basis = encode_tensor(floats({2, 4}, std::vector<float>(8, 1)));
         basis.set_name(graph.node(0).input(1));
       },
       "scales of the input: expected one, found [2, 4]"}};
  for (const Damage& damage : damages) {
    ErrorKind kind{};
    EXPECT_THAT(damaged(damage.apply, kind), HasSubstr(damage.text));
  }
}

void expect_unsupported(const Graph& graph, const std::string& text) {
  expect_error(ErrorKind::kUnsupported, text, [&] { export_onnx(graph); });
}

TEST(ExportOnnx, ListsAllNodesWithoutAnOperator) {
  ValueId x{};
  Graph graph = with_input(x, {2, 6});
  graph.add_output(graph.add_node("sign", ir::Unary{{ActivationKind::kSignBit}}, {x}));
  const ir::AffineParameters wide{{1}, {0}, 0};
  graph.add_output(graph.add_node("wide", ir::QuantizeLinear{wide, ElementType::kInt32}, {x}));
  const ir::AffineParameters far{{1}, {300}, 0};
  graph.add_output(graph.add_node("far", ir::QuantizeLinear{far, ElementType::kInt8}, {x}));
  auto encoding = std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::make_basis(std::vector<float>{1})));
  graph.add_output(graph.add_node("code", ir::Encode{encoding}, {x}));
  const ValueId c = graph.add_constant("c", random_tensor({3, 1, 6}, 1));
  graph.add_output(graph.add_node("slope", ir::Binary{BinaryKind::kPRelu, {}}, {x, c}));
  expect_unsupported(graph,
                     "not expressible in ONNX: node 'sign' (SignBit): activation SignBit; "
                     "node 'wide' (QuantizeLinear): codes of int32; node 'far' (QuantizeLinear): "
                     "zero points out of the range of int8; node 'slope' (PRelu): a slope of more "
                     "extents than the input; reads 'code', codes of a basis");
}

TEST(ExportOnnx, RejectsGraphsThatOnnxCannotExpress) {
  Graph basis;
  auto encoding = std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::make_basis(std::vector<float>{1})));
  basis.add_output(basis.add_input("x", {{2, 6}, {ElementType::kFloat32, encoding}}));
  expect_unsupported(basis, "input 'x' in a basis");
  ValueId x{};
  Graph zero = with_input(x, {2, 6});
  const ValueId codes = zero.add_constant("q", random_tensor({6}, 1).cast(ElementType::kInt32));
  zero.add_output(zero.add_node("d", ir::DequantizeLinear{{{1}, {1}, 0}}, {codes}));
  expect_unsupported(zero, "a zero point of int32 codes");
  Graph codes_only;
  const ValueId q = codes_only.add_input("q", ir::dense_type(ElementType::kInt8, {2, 6}));
  codes_only.add_output(codes_only.add_node("s", ir::Softmax{1}, {q}));
  expect_unsupported(codes_only, "arithmetic on integers of 8 bits");
  Graph batches = with_input(x, {kBatch, 1, kBatch});
  batches.add_output(batches.add_node("r", ir::Reshape{{1, kBatch, 1, kBatch}}, {x}));
  expect_unsupported(batches, "a reshape of");
  Graph never = with_input(x);
  const ir::Activation clip{ActivationKind::kClip, kInfinity, kInfinity};
  never.add_output(never.add_node("c", ir::Unary{clip}, {x}));
  expect_unsupported(never, "activation Clip");
}

TEST(ExportOnnx, RefusesGraphsThatDoNotVerify) {
  EXPECT_THROW(static_cast<void>(export_onnx(Graph{})), Error);
}

TEST(ExportOnnx, RoundTripOfTheBundledNetwork) {
  const Graph graph = import_onnx(
      read_file(std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist/mnist_mlp_700.onnx"), {});
  const Graph again = expect_round_trip(graph, {2, 784});
  EXPECT_EQ(export_onnx(again), export_onnx(graph));
}

TEST(ExportOnnx, TiesStatesInTheMetadata) {
  const ir::Graph graph = ir::test::running_sum();
  const auto bytes = export_onnx(graph);
  const Graph found = import_onnx(bytes, {});
  ASSERT_EQ(found.states().size(), 1U);
  EXPECT_EQ(found.value(found.states()[0].before).name, "sum");
  EXPECT_EQ(found.value(found.states()[0].after).name, "sum/after");
  ir::test::expect_same_function(found, graph);
  ModelProto model = parsed(bytes);
  model.mutable_metadata_props(0)->set_value("gone");
  const std::string text = model.SerializeAsString();
  expect_error(ErrorKind::kFormat, "state 'sum': expected an output 'gone', found none",
               [&] { import_onnx(std::as_bytes(std::span(text)), {}); });
}

TEST(ExportOnnx, WritesEqualParametersOnceUnderShortNames) {
  ValueId x;
  Graph graph = with_input(x);
  const ir::AffineParameters one{{0.5F}, {3}, 0};
  const std::string scope = "a/very/long/scope/that/an/exporter/made";
  for (const char* layer : {"/first", "/second"}) {
    const std::string name = scope + layer;
    x = graph.add_node(name + "/quantize", ir::QuantizeLinear{one, ElementType::kInt8}, {x});
    x = graph.add_node(name + "/dequantize", ir::DequantizeLinear{one}, {x});
  }
  const ir::AffineParameters two{{0.25F}, {3}, 0};
  x = graph.add_node("q", ir::QuantizeLinear{two, ElementType::kInt8}, {x});
  graph.add_output(graph.add_node("y", ir::DequantizeLinear{two}, {x}));
  const ModelProto model = parsed(export_onnx(graph));
  std::vector<std::string> names;
  for (const TensorProto& tensor : model.graph().initializer()) {
    names.push_back(tensor.name());
  }
  EXPECT_THAT(names, ElementsAre("scale", "zero", "scale_1"));
  expect_round_trip(graph);
}

TEST(OnnxOperatorsPage, NamesOperatorsThatAreReadAndWritten) {
  const auto is_written = [](const ir::Operator& op) { return find_writer(op) != nullptr; };
  ir::test::expect_operator_column("ONNX", is_written);
  ir::test::expect_operator_names("ONNX operators that can be read", readable_operators());
}

}  // namespace
}  // namespace halftone::formats::onnx

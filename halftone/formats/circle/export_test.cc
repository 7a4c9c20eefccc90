// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "halftone/base/half.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/operators_page.h"
#include "halftone/ir/text.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;

TEST(ExportCircle, KeepsNamesShapesAndStructure) {
  const ir::Graph graph = small_network();
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    EXPECT_EQ(ir::to_text(round_trip(graph, flavor)), ir::to_text(graph));
  }
}

TEST(ExportCircle, FloatNetworkComputesTheSameFromCircleToTflite) {
  const ir::Graph graph = small_network();
  const ir::Graph circle = round_trip(graph, CircleFlavor::kCircle);
  const ir::Graph tflite = round_trip(circle, CircleFlavor::kTflite);
  expect_same_function(circle, graph);
  expect_same_function(tflite, graph, {.batch = 7});
}

TEST(ExportCircle, LowBitNetworkComputesTheSameFromCircleToTflite) {
  const ir::Graph graph = small_lowbit_network();
  const ir::Graph circle = round_trip(graph, CircleFlavor::kCircle);
  expect_same_function(circle, graph);
  expect_same_function(round_trip(circle, CircleFlavor::kTflite), graph);
}

TEST(ExportCircle, WritesTheSameBytesEveryTime) {
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    const auto bytes = export_circle(small_lowbit_network(), flavor);
    EXPECT_EQ(export_circle(small_lowbit_network(), flavor), bytes);
    EXPECT_EQ(circle_flavor(bytes), flavor);
    const auto again = export_circle(import_circle(bytes), flavor);
    EXPECT_EQ(export_circle(import_circle(again), flavor), again);
  }
}

TEST(ExportCircle, AlignsBuffersTo16Bytes) {
  const auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  const auto* buffers = schema::GetModel(bytes.data())->buffers();
  ASSERT_GT(buffers->size(), 2U);
  for (const auto* buffer : *buffers) {
    if (buffer->data() == nullptr) continue;
    const auto* start = reinterpret_cast<const std::byte*>(buffer->data()->data());
    EXPECT_EQ((start - bytes.data()) % 16, 0);
  }
}

TEST(ExportCircle, SignsTfliteFilesWithTheNamesOfTheirEnds) {
  const auto model = unpacked(export_circle(small_network(), CircleFlavor::kTflite));
  ASSERT_EQ(model.signature_defs.size(), 1U);
  const schema::SignatureDefT& signature = *model.signature_defs[0];
  EXPECT_EQ(signature.signature_key, "serving_default");
  const schema::SubGraphT& graph = *model.subgraphs[0];
  const auto expect_maps = [&](const auto& maps, const auto& tensors) {
    ASSERT_EQ(maps.size(), tensors.size());
    for (std::size_t i = 0; i < maps.size(); ++i) {
      EXPECT_EQ(maps[i]->tensor_index, static_cast<std::uint32_t>(tensors[i]));
      EXPECT_EQ(maps[i]->name, graph.tensors[maps[i]->tensor_index]->name);
    }
  };
  expect_maps(signature.inputs, graph.inputs);
  expect_maps(signature.outputs, graph.outputs);
  EXPECT_TRUE(
      unpacked(export_circle(small_network(), CircleFlavor::kCircle)).signature_defs.empty());
}

TEST(ExportCircle, GivesEveryTensorAName) {
  Random random(3);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 8}));
  const auto w = graph.add_constant("w", random_tensor({8, 8}, random));
  const auto more = graph.add_constant("w", random_tensor({8, 8}, random));
  // A value in the middle has the name of the output, which keeps it.
  const auto h = graph.add_node("a", ir::FullyConnected{}, {x, w}, "y");
  const auto r = graph.add_node("r", ir::Reshape{{kBatch, 2, 4}}, {h});
  const auto s = graph.add_node("s", ir::Reshape{{kBatch, 8}}, {r});
  graph.add_output(graph.add_node("b", ir::FullyConnected{}, {s, more}, "y"));
  const auto model = unpacked(export_circle(graph, CircleFlavor::kTflite));
  std::set<std::string> names;
  for (const auto& tensor : model.subgraphs[0]->tensors) {
    EXPECT_FALSE(tensor->name.empty());
    EXPECT_TRUE(names.insert(tensor->name).second) << tensor->name;
  }
  const ir::Graph again = round_trip(graph, CircleFlavor::kTflite);
  EXPECT_EQ(again.value(again.outputs()[0]).name, "y");
}

TEST(ExportCircle, StoresEqualConstantsOnce) {
  Random random(3);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 8}));
  auto shared = std::make_shared<const ir::Constant>(random_tensor({8, 8}, random));
  const auto w1 = graph.add_constant("w1", shared);
  const auto w2 = graph.add_constant("w2", shared);
  const auto y = graph.add_node("a", ir::FullyConnected{}, {x, w1});
  graph.add_output(graph.add_node("b", ir::FullyConnected{}, {y, w2}));
  const auto model = unpacked(export_circle(graph, CircleFlavor::kTflite));
  EXPECT_EQ(model.buffers.size(), 2U);
  expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph);
}

TEST(ExportCircle, WritesFusedTanhAsItsOwnOperator) {
  Random random(3);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 8}));
  const auto w = graph.add_constant("w", random_tensor({4, 8}, random));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{{ir::ActivationKind::kTanh, 0, 0}},
                                  {x, w}, "activations"));
  const auto model = unpacked(export_circle(graph, CircleFlavor::kTflite));
  ASSERT_EQ(model.subgraphs[0]->operators.size(), 2U);
  EXPECT_EQ(model.operator_codes[1]->builtin_code, static_cast<int>(OperatorCode::kTanh));
  const auto linear = static_cast<std::size_t>(model.subgraphs[0]->operators[0]->outputs[0]);
  EXPECT_EQ(model.subgraphs[0]->tensors[linear]->name, "dense");
}

struct NewLayer {
  std::string name;
  ir::Dim outputs;
  int bits;
};

/// A layer of the reference network with bases and offsets exact in binary16.
ir::ValueId add_layer(ir::Graph& graph, Random& random, ir::ValueId x, const NewLayer& layer) {
  const auto& [name, outputs, bits] = layer;
  numerics::MatrixEncoding weights;
  weights.bits = bits;
  weights.has_offset = true;
  weights.granularity = numerics::Granularity::kChannel;
  const auto rounded = [](const numerics::MatrixEncoding& encoding) {
    auto result = std::make_shared<numerics::MatrixEncoding>(encoding);
    for (std::size_t i = 0; i < result->num_blocks(); ++i) {
      numerics::Basis basis = result->basis(i);
      for (float& a : basis.coefficients) a = float_from_half(half_from_float(a));
      basis.offset = float_from_half(half_from_float(basis.offset));
      result->set_levels(i, basis);
    }
    return result;
  };
  ir::EncodedTensor codes =
      random_encoded(random, outputs, graph.value(x).type.shape.back(), weights);
  codes.encoding = rounded(*codes.encoding);
  weights.granularity = numerics::Granularity::kTensor;
  const auto basis = rounded(*random_encoded(random, 1, 1, weights).encoding);
  const auto encoded = graph.add_node(name + "/input", ir::Encode{basis}, {x});
  const auto w = graph.add_constant(name + ".weight", std::move(codes));
  const auto b = graph.add_constant(name + ".bias", random_tensor({outputs}, random));
  const auto kind = outputs == 10 ? ir::ActivationKind::kIdentity : ir::ActivationKind::kTanh;
  return graph.add_node(name, ir::FullyConnected{{kind, 0, 0}}, {encoded, w, b});
}

TEST(ExportCircle, ReferenceNetworkStaysBelowItsSizes) {
  constexpr std::array<double, 3> kMaxKib = {76.2, 147.2, 218.3};
  for (int bits = 1; bits <= 3; ++bits) {
    Random random(static_cast<std::uint64_t>(bits));
    ir::Graph graph;
    const auto x =
        graph.add_input("pixels", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 784}));
    const auto hidden = add_layer(graph, random, x, {"dense1", 700, bits});
    const auto scores = add_layer(graph, random, hidden, {"dense2", 10, bits});
    graph.add_output(graph.add_node("probabilities", ir::Softmax{1, 1, false}, {scores}));
    const auto bytes = export_circle(graph, CircleFlavor::kCircle);
    EXPECT_LT(static_cast<double>(bytes.size()) / 1024,
              kMaxKib[static_cast<std::size_t>(bits - 1)]);
    const auto k = static_cast<std::size_t>(bits);
    const std::size_t raw = 700 * k * 98 + 10 * k * 88 + 710 * 4 + 712 * (k + 1) * 2;
    EXPECT_LT(bytes.size() - raw, 1700U) << "metadata";
  }
}

TEST(ExportCircle, RefusesMoreWeightsThanAFileHolds) {
  EXPECT_NO_THROW(check_data_size(std::size_t{1} << 30));
  const Error error = error_of([] { check_data_size(std::size_t{1} << 31); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_STREQ(error.what(),
               "expected at most 2080374783 bytes of weights in one file, found 2147483648");
}

TEST(ExportCircle, RefusesIntegersReadWithDifferentScales) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kInt8, {kBatch, 4}));
  graph.add_output(graph.add_node("a", ir::DequantizeLinear{{{1}, {0}, 0}}, {x}));
  graph.add_output(graph.add_node("b", ir::DequantizeLinear{{{2}, {0}, 0}}, {x}));
  const Error error = error_of([&] { export_circle(graph, CircleFlavor::kTflite); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_STREQ(error.what(),
               "'x': expected one scale for all readers of the integers, found different ones");
}

TEST(ExportCircle, RefusesArithmeticOnCodes) {
  for (const ir::Operator& op :
       {ir::Operator(ir::Softmax{2}),
        ir::Operator(ir::Pool{ir::PoolKind::kMax, {1}, ir::plain_window(1)}),
        ir::Operator(ir::Lookup{ir::ElementType::kInt8, std::vector<std::int32_t>(256, 1)})}) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kInt8, {kBatch, 4, 2}));
    graph.add_output(graph.add_node("y", op, {x}));
    const Error error = error_of([&] { export_circle(graph, CircleFlavor::kTflite); });
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    const bool is_lookup = std::holds_alternative<ir::Lookup>(op);
    EXPECT_THAT(error.what(), testing::HasSubstr(is_lookup ? "cannot be written to this format"
                                                           : "arithmetic on integers of 8 bits"));
  }
}

TEST(ExportCircle, RefusesExtentsOf32BitsAndMore) {
  ir::Graph graph;
  const ir::Dim large = ir::Dim{1} << 31;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, large}));
  graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kAbs, 0, 0}}, {x}));
  const Error error = error_of([&] { export_circle(graph, CircleFlavor::kTflite); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_STREQ(error.what(), "an extent of 2147483648 in [1, 2147483648]: expected less than 2^31");
}

TEST(ExportCircle, KeepsStatesAsVariables) {
  const ir::Graph graph = ir::test::running_sum();
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    const auto bytes = export_circle(graph, flavor);
    const schema::ModelT model = unpacked(bytes);
    ASSERT_EQ(model.subgraphs.size(), 2U);
    EXPECT_EQ(model.subgraphs[0]->inputs.size(), 1U);
    EXPECT_EQ(model.subgraphs[0]->outputs.size(), 1U);
    const ir::Graph found = import_circle(bytes);
    ASSERT_EQ(found.states().size(), 1U);
    EXPECT_EQ(found.value(found.states()[0].before).name, "sum");
    EXPECT_EQ(found.value(found.states()[0].after).name, "sum/after");
    expect_same_function(found, graph);
  }
}

TEST(CircleOperatorsPage, NamesOperatorsThatAreReadAndWritten) {
  const auto is_written = [](const ir::Operator& op) { return find_writer(op) != nullptr; };
  ir::test::expect_operator_column("TFLite", is_written);
  ir::test::expect_operator_names("TensorFlow Lite operators that can be read",
                                  readable_operators());
}

}  // namespace
}  // namespace halftone::formats::circle

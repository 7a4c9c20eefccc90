// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/random.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

/// x [N, 2] -> MatMul with w -> y.
TestModel small_model() {
  TestModel model;
  model.input("x", {-1, 2}).floats("w", {2, 2}, {1, 2, 3, 4}).output("y");
  model.node("MatMul", {"x", "w"}, {"y"}).set_name("fc");
  return model;
}

TEST(ImportOnnx, ReadsTheBundledNetwork) {
  const auto bytes =
      read_file(std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist/mnist_mlp_700.onnx");
  const ir::Graph graph = import_onnx(bytes, {});
  const std::string text = ir::to_text(graph);
  EXPECT_THAT(text, HasSubstr("float32[N, 784]"));
  EXPECT_THAT(text, HasSubstr("float32[N, 700] = FullyConnected"));
  EXPECT_THAT(text, HasSubstr("float32[N, 10] = FullyConnected"));
  EXPECT_THAT(text, HasSubstr("Tanh"));
  EXPECT_THAT(text, HasSubstr("Softmax"));
  const auto y = run_reference(graph, list(random_tensor({2, 784}, 1)));
  float sum = 0;
  for (const float value : numbers(y[0])) sum += value;
  EXPECT_NEAR(sum, 2, 1e-5);
}

TEST(ImportOnnx, OpenFirstExtentBecomesTheBatch) {
  for (const char* form : {"name", "unset", "zero", "minus"}) {
    TestModel model = small_model();
    auto& dim = *model.proto()
                     .mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape()
                     ->mutable_dim(0);
    dim.Clear();
    if (form == std::string("name")) dim.set_dim_param("batch");
    if (form == std::string("zero")) dim.set_dim_value(0);
    if (form == std::string("minus")) dim.set_dim_value(-1);
    const ir::Graph graph = model.import();
    EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{ir::kBatch, 2})) << form;
  }
}

TEST(ImportOnnx, NameOfTheBatchMeansTheBatchOnLaterAxesToo) {
  TestModel model;
  model.input("x", {2, -1}).input("z", {-1, 2}).output("y");
  model.node("Relu", {"x"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{2, ir::kBatch}));
}

std::string shape_of_input(const TestModel& model) {
  const ir::Graph graph = model.import();
  return graph.value(graph.inputs()[0]).type.shape.to_string();
}

TEST(ImportOnnx, UnknownExtentOnAnotherAxisIsASymbol) {
  TestModel model;
  model.input("x", {-1, 3}).output("y");
  model.node("Relu", {"x"}, {"y"});
  auto& shape = *model.proto()
                     .mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(1)->set_dim_param("width");
  EXPECT_EQ(shape_of_input(model), "[N, width]");
  shape.mutable_dim(1)->set_dim_param("a width");
  EXPECT_EQ(shape_of_input(model), "[N, 'a width']");
  shape.mutable_dim(1)->set_dim_param("N");
  EXPECT_EQ(shape_of_input(model), "[N, N]");
  shape.mutable_dim(0)->set_dim_param("samples");
  EXPECT_EQ(shape_of_input(model), "[N, 'N']");
  shape.mutable_dim(1)->clear_dim_param();
  EXPECT_EQ(shape_of_input(model), "[N, x_1]");
}

TEST(ImportOnnx, SeveralNamesOfFirstExtentsAreTheBatchUnlessOneSaysSo) {
  const auto shapes_of = [](const char* first, const char* second) {
    TestModel model;
    model.input("x", {-1, 3}).input("z", {-1, 3}).output("y").output("w");
    model.node("Relu", {"x"}, {"y"});
    model.node("Relu", {"z"}, {"w"});
    auto& inputs = *model.proto().mutable_graph()->mutable_input();
    for (int i = 0; i < 2; ++i) {
      auto& shape = *inputs[i].mutable_type()->mutable_tensor_type()->mutable_shape();
      shape.mutable_dim(0)->set_dim_param(i == 0 ? first : second);
    }
    const ir::Graph graph = model.import();
    return graph.value(graph.inputs()[0]).type.shape.to_string() +
           graph.value(graph.inputs()[1]).type.shape.to_string();
  };
  EXPECT_EQ(shapes_of("samples", "rows"), "[N, 3][N, 3]");
  EXPECT_EQ(shapes_of("T", "B"), "[T, 3][N, 3]");
  EXPECT_EQ(shapes_of("num_boxes", "batch_size"), "[num_boxes, 3][N, 3]");
}

TEST(ImportOnnx, InputOfUnsupportedTypeIsRefused) {
  TestModel strings;
  strings.input("x", {1}, TensorProto::STRING).output("x");
  expect_failure(strings, ErrorKind::kUnsupported, "input 'x': elements of type string");
  TestModel untyped;
  untyped.proto().mutable_graph()->add_input()->set_name("x");
  expect_failure(untyped, ErrorKind::kUnsupported, "input 'x': expected a tensor with a shape");
  TestModel many;
  many.input("x", std::vector<std::int64_t>(33, 1)).output("x");
  expect_failure(many, ErrorKind::kUnsupported, "expected at most 32 axes, found 33");
}

TEST(ImportOnnx, InitializersMayBeListedAsInputs) {
  TestModel model = small_model();
  model.input("w", {2, 2});
  const ir::Graph graph = model.import();
  EXPECT_EQ(graph.inputs().size(), 1U);
}

TEST(ImportOnnx, InitializersOfEveryTypeAreWidened) {
  const auto half = [](TensorProto proto) {
    proto.set_data_type(TensorProto::FLOAT16);
    for (const int bits : {0x3c00, 0x4000, 0x4200, 0x4400}) proto.add_int32_data(bits);
    return proto;
  };
  const auto doubles = [](TensorProto proto) {
    proto.set_data_type(TensorProto::DOUBLE);
    for (const double value : {1.0, 2.0, 3.0, 4.0}) proto.add_double_data(value);
    return proto;
  };
  const auto brain = [](TensorProto proto) {
    proto.set_data_type(TensorProto::BFLOAT16);
    for (const int bits : {0x3f80, 0x4000, 0x4040, 0x4080}) proto.add_int32_data(bits);
    return proto;
  };
  TensorProto square;
  square.add_dims(2);
  square.add_dims(2);
  for (const TensorProto& weight : {half(square), doubles(square), brain(square)}) {
    TestModel model;
    model.input("x", {-1, 2}).initializer("w", weight).output("y");
    model.node("MatMul", {"x", "w"}, {"y"});
    EXPECT_THAT(numbers(run_reference(model.import(), list(floats({1, 2}, {1, 10})))[0]),
                ElementsAre(31, 42));
  }
}

TEST(ImportOnnx, NamesAllUnsupportedOperatorsInOneLine) {
  TestModel model = small_model();
  model.node("StringSplit", {"x"}, {"a"}).set_name("memory");
  model.node("SequenceMap", {"x"}, {"b"}).set_name("c1");
  model.node("SequenceMap", {"x"}, {"c"}).set_name("c2");
  model.node("Fancy", {"x"}, {"d"}).set_domain("com.example");
  expect_failure(
      model, ErrorKind::kUnsupported,
      "operators that are not supported: SequenceMap ('c1', 'c2'); StringSplit ('memory'); "
      "com.example.Fancy ('d')");
}

TEST(ImportOnnx, SequencesAreKnownDuringTheImport) {
  const auto expect_refusal = [](const std::string& op, const std::string& text) {
    TestModel model;
    model.input("x", {1, 4}).output("y");
    model.integers("four", {4});
    model.node("SequenceConstruct", {"x", "x"}, {"s"});
    model.node(op, {op == "SequenceLength" ? "x" : "s", "four"}, {"y"});
    expect_failure(
        model, op == "Abs" || op == "SequenceLength" ? ErrorKind::kUnsupported : ErrorKind::kShape,
        text);
  };
  expect_refusal("SequenceAt", "position 4 in a sequence of 2 elements");
  expect_refusal("SequenceErase", "position 4 in a sequence of 2 elements");
  expect_refusal("SequenceLength", "sequences of unknown length");
  expect_refusal("Abs", "reads 's': expected a tensor, found a sequence");
}

TEST(ImportOnnx, LongListsOfNodesAreCutShort) {
  TestModel model = small_model();
  for (int i = 0; i < 11; ++i) model.node("SequenceMap", {"x"}, {"c" + std::to_string(i)});
  expect_failure(model, ErrorKind::kUnsupported, "'c7' and 3 more)");
}

TEST(ImportOnnx, UnsupportedOutputsHaveAReason) {
  TestModel model = small_model();
  model.node("BatchNormalization", {"y", "s", "s", "s", "s"}, {"z", "mean"}).set_name("norm");
  model.floats("s", {2}, {1, 1}).output("mean");
  expect_failure(
      model, ErrorKind::kUnsupported,
      "reads 'mean': an output of node 'norm' (BatchNormalization) that is not supported");
}

TEST(ImportOnnx, OutputsKeepTheirNames) {
  TestModel model;
  model.input("x", {-1, 2}).output("probabilities");
  model.node("Relu", {"x"}, {"h"});
  model.node("Dropout", {"h"}, {"d"});
  model.node("Identity", {"d"}, {"probabilities"});
  const ir::Graph graph = model.import();
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "probabilities");
}

TEST(ImportOnnx, InvalidBytesAreRejected) {
  const auto check = [](const std::string& text, const std::string& message) {
    ErrorKind kind{};
    EXPECT_THAT(import_failure(std::as_bytes(std::span(text)), kind), HasSubstr(message));
    EXPECT_EQ(kind, ErrorKind::kFormat);
  };
  check("", "expected an ONNX model, found no bytes");
  check(
      "\x1c"
      "TFL3 not a protobuf message",
      "not a complete ONNX protobuf message");
  check(std::string("\x08\x08", 2), "found no graph");
  // A length field of 2^63 bytes.
  check("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "not a complete ONNX protobuf message");
}

TEST(ImportOnnx, EveryTruncationIsRefused) {
  const auto bytes = small_model().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ErrorKind kind{};
    EXPECT_NE(import_failure(std::span(bytes).first(size), kind), "") << size;
  }
}

TEST(ImportOnnx, FilesBeforeIrVersion3HaveNoOperatorSets) {
  TestModel model = small_model();
  model.proto().clear_opset_import();
  expect_failure(model, ErrorKind::kFormat,
                 "expected operator sets in a model of IR version 8, found none");
  model.proto().set_ir_version(2);
  EXPECT_EQ(model.import().topological_order().size(), 1U);
}

TEST(ImportOnnx, VersionsNewerThanKnownAreRefused) {
  TestModel model = small_model();
  model.proto().set_ir_version(14);
  model.proto().mutable_opset_import(0)->set_version(28);
  EXPECT_EQ(model.import().topological_order().size(), 1U);
  auto& other = *model.proto().add_opset_import();
  other.set_domain("com.example");
  other.set_version(999);  // no node uses it
  EXPECT_EQ(model.import().topological_order().size(), 1U);
  for (const char* domain : {"", "ai.onnx"}) {
    model.proto().mutable_opset_import(0)->set_domain(domain);
    model.proto().mutable_opset_import(0)->set_version(29);
    expect_failure(model, ErrorKind::kUnsupported,
                   "operator set version: expected at most 28, the newest known, found 29");
  }
  model.proto().set_ir_version(15);
  expect_failure(model, ErrorKind::kUnsupported,
                 "IR version: expected at most 14, the newest known, found 15");
}

TEST(ImportOnnx, FlippedBitsNeverCrash) {
  const auto bytes = small_model().bytes();
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    ErrorKind kind{};
    refused += import_failure(flipped, kind).empty() ? 0U : 1U;
    EXPECT_NE(kind, ErrorKind::kInternal) << "bit " << bit;
  }
  EXPECT_GT(refused, bytes.size());
}

TEST(ImportOnnx, InvalidGraphsAreRejected) {
  TestModel cyclic = small_model();
  cyclic.node("Add", {"x", "b"}, {"a"}).set_name("first");
  cyclic.node("Relu", {"a"}, {"b"});
  expect_failure(cyclic, ErrorKind::kFormat,
                 "node 'first' (Add): reads 'b', which nothing before it defines");
  TestModel missing = small_model();
  missing.node("Relu", {"nowhere"}, {"z"});
  expect_failure(missing, ErrorKind::kFormat, "reads 'nowhere', which nothing before it defines");
  TestModel twice = small_model();
  twice.node("Relu", {"x"}, {"y"}).set_name("again");
  expect_failure(twice, ErrorKind::kFormat, "node 'again' (Relu): value 'y' is defined twice");
  TestModel inputs = small_model();
  inputs.input("x", {1});
  expect_failure(inputs, ErrorKind::kFormat, "input 'x': value 'x' is defined twice");
  TestModel outputs = small_model();
  outputs.output("y");
  expect_failure(outputs, ErrorKind::kFormat, "output 'y' is listed twice");
  TestModel undefined = small_model();
  undefined.output("z");
  expect_failure(undefined, ErrorKind::kFormat, "output 'z': reads 'z'");
  TestModel nameless = small_model();
  nameless.floats("", {1}, {1});
  expect_failure(nameless, ErrorKind::kFormat, "a value without a name");
  TestModel none;
  none.floats("w", {1}, {1}).output("w");
  expect_failure(none, ErrorKind::kFormat, "the graph has no inputs");
  TestModel version(0);
  version.input("x", {1}).output("x");
  expect_failure(version, ErrorKind::kFormat, "expected a version of at least 1, found 0");
  TestModel sparse = small_model();
  sparse.proto().mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("s");
  expect_failure(sparse, ErrorKind::kUnsupported, "sparse initializer 's'");
}

TEST(ImportOnnx, NonFiniteWeightsAreRejectedByName) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    TestModel model;
    model.input("x", {-1, 2}).floats("dense.kernel", {2, 2}, {1, 2, bad, 4}).output("y");
    model.node("MatMul", {"x", "dense.kernel"}, {"y"});
    expect_failure(model, ErrorKind::kFormat,
                   "constant 'dense.kernel': expected finite numbers, found ");
  }
  TestModel scalar;
  scalar.input("x", {-1, 2}).scalar("s", std::numeric_limits<float>::infinity()).output("y");
  scalar.node("Add", {"x", "s"}, {"y"});
  expect_failure(scalar, ErrorKind::kFormat, "constant 's': expected finite numbers, found inf");
}

TEST(ImportOnnx, BoundsMayBeInfinite) {
  TestModel model;
  model.input("x", {-1, 2}).scalar("s", std::numeric_limits<float>::infinity()).output("y");
  model.node("Min", {"x", "s"}, {"y"});
  EXPECT_THAT(numbers(run_reference(model.import(), list(floats({1, 2}, {1, -1})))[0]),
              ElementsAre(1, -1));
}

TEST(ImportOnnx, MasksMayBeInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  TestModel model;
  model.input("x", {-1, 2}).floats("mask", {2}, {0, -infinity}).output("y");
  model.node("Add", {"x", "mask"}, {"y"});
  EXPECT_THAT(numbers(run_reference(model.import(), list(floats({1, 2}, {1, -1})))[0]),
              ElementsAre(1, -infinity));
}

TEST(ImportOnnx, OperatorsThatMoveElementsMayReadInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  TestModel model;
  model.input("i", {1, 1}, onnx_pb::TensorProto::INT64).output("y");
  model.floats("mask", {2, 1}, {0, -infinity});
  model.node("GatherElements", {"mask", "i"}, {"y"});
  const std::vector<std::int64_t> second = {1};
  EXPECT_THAT(numbers(run_reference(model.import(),
                                    list(ir::test::tensor<std::int64_t>({1, 1}, second)))[0]),
              ElementsAre(-infinity));
}

TEST(ImportOnnx, HugeShapesAreRejectedBeforeAllocation) {
  TestModel huge;
  huge.input("x", {-1, std::int64_t{1} << 41}).output("x");
  expect_failure(huge, ErrorKind::kShape, "2^40");
  TestModel filled;
  filled.input("x", {-1, 2}).integers("s", {1 << 20, 1 << 20}).output("y");
  filled.node("ConstantOfShape", {"s"}, {"y"}).set_name("fill");
  expect_failure(filled, ErrorKind::kUnsupported,
                 "node 'fill' (ConstantOfShape): constants of 4398046511104 bytes");
  TestModel masked;
  masked.input("x", {1 << 20, 1 << 20}).output("y");
  masked.node("Trilu", {"x"}, {"y"});
  expect_failure(masked, ErrorKind::kUnsupported, "constants of 1099511627776 bytes");
  TestModel initializer = small_model();
  TensorProto proto;
  proto.set_data_type(TensorProto::FLOAT);
  for (int i = 0; i < 3; ++i) proto.add_dims(std::int64_t{1} << 40);
  initializer.initializer("bomb", proto);
  expect_failure(initializer, ErrorKind::kShape, "initializer 'bomb': shape");
}

TEST(ImportOnnx, ConstantsThatWouldGrowTooLargeAreNotFolded) {
  TestModel model;
  model.input("x", {1, 1}).output("y");
  model.floats("a", {10000, 1}, std::vector<float>(10000, 1));
  model.floats("b", {1, 10000}, std::vector<float>(10000, 1));
  model.node("Add", {"a", "b"}, {"sum"});
  model.node("Mul", {"x", "sum"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("sum: float32[10000, 10000] = Add"));
}

TEST(ImportOnnx, MessagesAreOneLineForAnyNames) {
  TestModel model = small_model();
  model.node("Bad\nOperator\x01", {"x"}, {"z"}).set_name("two\nlines");
  expect_failure(model, ErrorKind::kUnsupported, "Bad\\x0AOperator\\x01 ('two\\x0Alines')");
}

TEST(ImportOnnx, ReadsTheSharedModelsOrSaysWhatTheyNeed) {
  const char* variable = std::getenv("HALFTONE_DATA");
  const std::filesystem::path data =
      variable == nullptr ? std::string(HALFTONE_SOURCE_DIR) + "/../shared/data" : variable;
  const auto path = data / "models" / "mnist_mlp_700.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  EXPECT_EQ(import_onnx(read_file(path), path.parent_path()).topological_order().size(), 4U);
  for (const char* name : {"mnist_cnn", "super_resolution", "ultraface_rfb_320"}) {
    const auto convolutions = read_file(data / "models" / (std::string(name) + ".onnx"));
    EXPECT_GT(import_onnx(convolutions, path.parent_path()).topological_order().size(), 10U);
  }
}

}  // namespace
}  // namespace halftone::formats::onnx

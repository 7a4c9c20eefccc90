// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/model.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/ir/text.h"
#include "onnx.pb.h"

namespace halftone::formats {
namespace {

using Model = WithFolder;

ir::Graph scaled_tanh() {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  ir::Tensor factor(ir::ElementType::kFloat32, {3});
  factor.as<float>()[1] = 2;
  const auto scaled = graph.add_node("scaled", ir::Binary{ir::BinaryKind::kMul, {}},
                                     {x, graph.add_constant("factor", std::move(factor))});
  graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {scaled}));
  return graph;
}

TEST(ModelFormat, FollowsTheExtensionInAnyCase) {
  EXPECT_EQ(model_format("a/b.onnx"), ModelFormat::kOnnx);
  EXPECT_EQ(model_format("B.TFLITE"), ModelFormat::kTflite);
  EXPECT_EQ(model_format("c.circle"), ModelFormat::kCircle);
  expect_error(ErrorKind::kUnsupported, "ends in .onnx, .tflite or .circle, found '.pt'",
               [] { model_format("net.pt"); });
}

TEST_F(Model, ReadsWhatItWroteInEveryFormat) {
  for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
    save_model(scaled_tanh(), path(name));
    const ir::Graph graph = load_model(path(name));
    EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{ir::kBatch, 3})) << name;
    EXPECT_EQ(graph.topological_order().size(), 2u) << name;
  }
}

TEST_F(Model, ReadsEveryFormatFromMemoryByItsContent) {
  const std::pair<const char*, ModelFormat> cases[] = {{"m.onnx", ModelFormat::kOnnx},
                                                       {"m.tflite", ModelFormat::kTflite},
                                                       {"m.circle", ModelFormat::kCircle}};
  for (const auto& [name, format] : cases) {
    save_model(scaled_tanh(), path(name));
    SharedBytes bytes = own_bytes(read_file(path(name)));
    EXPECT_EQ(model_format(bytes.bytes), format) << name;
    const ir::Graph graph = load_model(bytes, name);
    bytes = {};  // views of constants keep what they need
    EXPECT_EQ(ir::to_text(graph), ir::to_text(load_model(path(name)))) << name;
  }
}

TEST_F(Model, GivesTheBytesOfItsFileInEveryFormat) {
  for (const char* format : {"onnx", "tflite", "circle"}) {
    const std::string file = path(std::string("m.") + format);
    save_model(scaled_tanh(), file);
    const SharedBytes bytes = model_bytes(scaled_tanh(), format_named(format), "net");
    EXPECT_THAT(read_file(file), testing::ElementsAreArray(bytes.bytes)) << format;
  }
  expect_error(ErrorKind::kUsage, "format: expected onnx, tflite or circle, found 'pb'",
               [] { format_named("pb"); });
  expect_error(ErrorKind::kUsage, "net: the standard form is one of ONNX",
               [] { model_bytes(scaled_tanh(), ModelFormat::kTflite, "net", {.standard = true}); });
  expect_error(ErrorKind::kUsage, "net: one operator is for ONNX Runtime and LiteRT: expected", [] {
    model_bytes(scaled_tanh(), ModelFormat::kCircle, "net", {.one_operator = true});
  });
}

TEST_F(Model, ReadsNetworksThatAreOneOperator) {
  for (const char* name : {"one.onnx", "one.tflite"}) {
    save_model(scaled_tanh(), path(name), {.one_operator = true});
    EXPECT_EQ(ir::to_text(load_model(path(name))), ir::to_text(scaled_tanh())) << name;
  }
}

TEST(ModelInMemory, IsRefusedInOneLineIfItIsNone) {
  const auto load = [](std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return load_model(own_bytes({first, first + text.size()}), "net");
  };
  expect_error(ErrorKind::kFormat, "net: expected a network, found no bytes", [&] { load(""); });
  expect_error(ErrorKind::kFormat, "net: ", [&] { load("this is no network"); });
  expect_error(ErrorKind::kFormat, "net: ", [&] { load("....TFL3"); });
}

TEST_F(Model, AcceptsAnyBatchAfterATraceOfOneSample) {
  ir::Graph traced;
  const auto x = traced.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {1, 3}));
  traced.add_output(traced.add_node("y", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x}));
  for (const char* name : {"t.onnx", "t.tflite", "t.circle"}) {
    save_model(traced, path(name));
    const ir::Graph graph = load_model(path(name));
    EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{ir::kBatch, 3})) << name;
  }
}

/// Moves the constant of scaled_tanh() in a file to another one beside it.
void externalise(const std::filesystem::path& model, const std::filesystem::path& data) {
  const std::vector<std::byte> bytes = read_file(model);
  onnx_pb::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  onnx_pb::TensorProto& factor = *proto.mutable_graph()->mutable_initializer(0);
  factor.clear_raw_data();
  factor.clear_float_data();
  factor.set_data_location(onnx_pb::TensorProto::EXTERNAL);
  auto& location = *factor.add_external_data();
  location.set_key("location");
  location.set_value(data.filename().string());
  const std::vector<float> values{0, 2, 0};
  write_file(data, std::as_bytes(std::span(values)));
  write_file(model, proto.SerializeAsString());
}

TEST_F(Model, ReadsExternalDataWithAndWithoutAFolderInThePath) {
  save_model(scaled_tanh(), path("m.onnx"));
  externalise(path("m.onnx"), path("m.onnx.data"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const std::string& name : {std::string("m.onnx"), std::string("./m.onnx"), path("m.onnx")}) {
    std::uintmax_t bytes = 0;
    EXPECT_EQ(load_model(name, {}, nullptr, &bytes).topological_order().size(), 2U) << name;
    EXPECT_EQ(bytes, std::filesystem::file_size("m.onnx") + 3 * sizeof(float)) << name;
  }
  std::filesystem::current_path(before);
}

TEST_F(Model, FixesInputsInEveryFormat) {
  ImportOptions options;
  options.constants.emplace("x", ir::Tensor(ir::ElementType::kFloat32, {2, 3}));
  for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
    save_model(scaled_tanh(), path(name));
    EXPECT_TRUE(load_model(path(name), options).inputs().empty()) << name;
  }
}

TEST_F(Model, GivesInputsAShapeInEveryFormat) {
  ImportOptions options;
  options.shapes.emplace("x", ir::Shape{5, 3});
  ImportOptions unfit;
  unfit.shapes.emplace("x", ir::Shape{5, 3, 1});
  for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
    save_model(scaled_tanh(), path(name));
    const ir::Graph graph = load_model(path(name), options);
    EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{5, 3})) << name;
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{5, 3})) << name;
    expect_error(ErrorKind::kUsage, "input 'x': expected a shape of 2 axes, found [5, 3, 1]",
                 [&] { load_model(path(name), unfit); });
  }
}

TEST_F(Model, RejectsNamesThatAreNoInputs) {
  ImportOptions options;
  options.shapes.emplace("z", ir::Shape{1});
  options.shapes.emplace("x", ir::Shape{5, 3});
  for (const char* name : {"m.onnx", "m.circle"}) {
    save_model(scaled_tanh(), path(name));
    expect_error(ErrorKind::kUsage, "input 'z': the model has no such input to fix",
                 [&] { load_model(path(name), options); });
    std::set<std::string> used;
    load_model(path(name), options, &used);
    EXPECT_EQ(used, std::set<std::string>{"x"}) << name;
  }
}

TEST_F(Model, CheckReportsUnsupportedNodesWithoutWriting) {
  check_model(scaled_tanh(), path("m.tflite"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  ir::Graph erf;
  const auto x = erf.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  erf.add_output(erf.add_node("y", ir::Unary{{ir::ActivationKind::kErf, 0, 0}}, {x}));
  expect_error(ErrorKind::kUnsupported, "Erf", [&] { check_model(erf, path("m.tflite")); });
}

TEST_F(Model, WritesNothingThatDoesNotReadBack) {
  ir::Graph graph;
  ir::Tensor infinite(ir::ElementType::kFloat32, {3});
  infinite.as<float>()[1] = std::numeric_limits<float>::infinity();
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  graph.add_output(graph.add_node("y", ir::Binary{ir::BinaryKind::kMul, {}},
                                  {x, graph.add_constant("factor", std::move(infinite))}));
  for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
    expect_error(ErrorKind::kUnsupported,
                 path(name) + ": does not read back: constant 'factor': expected finite numbers",
                 [&] { save_model(graph, path(name)); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Model, NamesAFormatThatCanHoldTheNetwork) {
  ir::Graph erf;
  const auto x = erf.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  erf.add_output(erf.add_node("y", ir::Unary{{ir::ActivationKind::kErf, 0, 0}}, {x}));
  expect_error(ErrorKind::kUnsupported, "; the network can be written as .onnx",
               [&] { save_model(erf, path("m.circle")); });
}

TEST_F(Model, NamesTheFileInMessages) {
  expect_error(ErrorKind::kIo, path("none.onnx"), [&] { load_model(path("none.onnx")); });
  for (const char* name : {"empty.onnx", "empty.tflite", "empty.circle"}) {
    write_file(path(name), std::string_view());
    expect_error(ErrorKind::kFormat, path(name), [&] { load_model(path(name)); });
  }
  write_file(path("other.circle"), std::string_view("this is no model, whatever its name says"));
  expect_error(ErrorKind::kFormat, path("other.circle"), [&] { load_model(path("other.circle")); });
}

TEST_F(Model, LeavesNoFileIfItCannotWrite) {
  expect_error(ErrorKind::kIo, "none/m.onnx",
               [&] { save_model(scaled_tanh(), path("none/m.onnx")); });
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace halftone::formats

// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/model.h"

#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

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

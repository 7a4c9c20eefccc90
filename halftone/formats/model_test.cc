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

TEST_F(Model, FixesInputsOfOnnxModelsOnly) {
  OnnxOptions options;
  options.constants.emplace("x", ir::Tensor(ir::ElementType::kFloat32, {2, 3}));
  save_model(scaled_tanh(), path("m.onnx"));
  EXPECT_TRUE(load_model(path("m.onnx"), options).inputs().empty());
  save_model(scaled_tanh(), path("m.circle"));
  expect_error(ErrorKind::kUsage, "only inputs of ONNX models can be fixed",
               [&] { load_model(path("m.circle"), options); });
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

// SPDX-License-Identifier: Apache-2.0
// Round trip of operator families through ONNX: written, read and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::onnx {
namespace {

using ir::ElementType;
using ir::kBatch;
using ir::Shape;
using ir::ValueId;

struct ExportCase {
  ir::Operator op;
  std::vector<Shape> inputs{{kBatch, 3, 4}};
  /// Constant inputs after the inputs, such as indices.
  std::vector<ir::Tensor> constants;
};

ir::Tensor index_tensor(const Shape& shape, const std::vector<std::int64_t>& values) {
  return ir::Tensor::from<std::int64_t>(shape, std::span(values));
}

ir::Graph graph_of(const ExportCase& test) {
  ir::Graph graph;
  std::vector<ValueId> inputs;
  for (const Shape& shape : test.inputs) {
    inputs.push_back(
        graph.add_input("x" + std::to_string(inputs.size()), ir::test::float_type(shape)));
  }
  for (const ir::Tensor& constant : test.constants) {
    inputs.push_back(graph.add_constant("c" + std::to_string(inputs.size()), constant.clone()));
  }
  graph.add_output(graph.add_node("node", test.op, inputs));
  return graph;
}

std::vector<ExportCase> cases() {
  std::vector<ExportCase> result;
  const auto add = [&](ir::Operator op, std::vector<Shape> inputs = {{kBatch, 3, 4}}) {
    result.push_back({std::move(op), std::move(inputs), {}});
  };
  for (int kind = 0; kind <= static_cast<int>(ir::ReduceKind::kLogSumExp); ++kind) {
    add(ir::Reduce{static_cast<ir::ReduceKind>(kind), {1}, kind % 2 == 0});
  }
  add(ir::Reduce{ir::ReduceKind::kL1, {}, true});
  add(ir::ArgReduce{1, true, true, false});
  add(ir::ArgReduce{2, false, false, true});
  add(ir::CumSum{1, true, true});
  add(ir::TopK{2, 2, false});
  add(ir::Normalize{{2}, 0.5F, true});
  add(ir::Normalize{{1, 2}, 0.5F, true});
  add(ir::Normalize{{1}, 0.5F, true});
  add(ir::Normalize{{2}, 0.5F, false});
  add(ir::LocalNormalize{1, 1, 2, 0.5F, 0.75F, 2});
  add(ir::Pad{ir::PadMode::kWrap, {0, 1, 2}, {0, 0, 3}});
  add(ir::Pad{ir::PadMode::kConstant, {0, 1, 2}, {0, 0, 3}}, {{kBatch, 3, 4}, Shape{}});
  add(ir::BroadcastTo{{1, 3, 4}}, {{kBatch, 1, 4}});
  add(ir::Tile{{1, 2, 3}});
  add(ir::GridSample{ir::Interpolation::kCubic, ir::Surroundings::kReflection, true},
      {{kBatch, 3, 4, 2}, {kBatch, 2, 2, 2}});
  ir::Resize resize;
  resize.axis = 1;
  resize.count = 6;
  resize.scale = 2;
  add(resize);
  resize.mode = ir::Interpolation::kCubic;
  resize.scale = 2.25;
  resize.coordinates = ir::Coordinates::kAlignCorners;
  resize.exclude_outside = true;
  add(resize);
  resize.mode = ir::Interpolation::kLinear;
  resize.coordinates = ir::Coordinates::kCropAndResize;
  resize.begin = 0.25F;
  resize.extrapolation = 3;
  add(resize);
  result.push_back({ir::Gather{1}, {{kBatch, 3, 4}}, list(index_tensor({2, 2}, {0, 2, 2, 1}))});
  result.push_back({ir::GatherND{}, {{2, 3, 4}}, list(index_tensor({2, 2}, {0, 2, 1, 1}))});
  result.push_back(
      {ir::GatherElements{1}, {{2, 2, 2}}, list(index_tensor({2, 1, 2}, {0, 1, 1, 1}))});
  for (const ir::Scatter reduction :
       {ir::Scatter::kReplace, ir::Scatter::kMul, ir::Scatter::kMax}) {
    result.push_back({ir::ScatterElements{0, reduction},
                      {{3, 2}},
                      list(index_tensor({1, 2}, {0, 2}), floats({1, 2}, {5, 6}))});
    result.push_back({ir::ScatterND{reduction},
                      {{3, 2}},
                      list(index_tensor({1, 1}, {2}), floats({1, 2}, {5, 6}))});
  }
  result.push_back(
      {ir::ReverseSequence{1, 2}, {{kBatch, 3, 4}}, list(index_tensor({3}, {1, 4, 2}))});
  return result;
}

TEST(ExportOnnx, RoundTripOfFamilies) {
  for (const ExportCase& test : cases()) {
    const ir::Graph graph = graph_of(test);
    SCOPED_TRACE(ir::to_text(graph));
    const ir::Graph again = import_onnx(export_onnx(graph), {});
    ir::test::SameFunction how;
    how.low = 0.25;
    ir::test::expect_same_function(again, graph, how);
  }
}

TEST(ExportOnnx, RoundTripOfBooleans) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 4}));
  const ValueId zero = graph.add_constant("zero", floats({}, {0}));
  const ValueId two = graph.add_constant("two", floats({2}, {-1, 1}));
  const ValueId positive = graph.add_node("p", ir::Binary{ir::BinaryKind::kGreater, {}}, {x, zero});
  const ValueId negative = graph.add_node("n", ir::Unary{{ir::ActivationKind::kNot}}, {positive});
  const ValueId both =
      graph.add_node("b", ir::Binary{ir::BinaryKind::kXor, {}}, {positive, negative});
  graph.add_output(graph.add_node("w", ir::Where{}, {positive, x, zero}));
  graph.add_output(both);
  const ValueId bits = graph.add_node("i", ir::Cast{ElementType::kInt32}, {x});
  graph.add_output(graph.add_node("o", ir::Binary{ir::BinaryKind::kOr, {}}, {bits, bits}));
  graph.add_output(graph.add_node("s", ir::Binary{ir::BinaryKind::kShiftLeft, {}}, {bits, bits}));
  graph.add_output(graph.add_node("f", ir::Binary{ir::BinaryKind::kFmod, {}}, {x, x}));
  graph.add_output(graph.add_node("inf", ir::Unary{{ir::ActivationKind::kIsInf, 1, 0}}, {x}));
  graph.add_output(graph.add_node("h", ir::OneHot{1, 3}, {bits, two}));
  const ir::Graph again = import_onnx(export_onnx(graph), {});
  ir::test::expect_same_function(again, graph);
}

TEST(ExportOnnx, RepeatsAConstantForEverySample) {
  for (const ir::Dim extent : {kBatch, 3 * kBatch}) {
    ir::Graph graph;
    const ValueId x = graph.add_input("x", ir::test::float_type({2, kBatch, 4}));
    const ValueId token = graph.add_constant("token", ir::test::counting({1, 4}));
    graph.add_output(graph.add_node("r", ir::BroadcastTo{{2, extent, 4}}, {token}));
    graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kAbs, 0, 0}}, {x}));
    const ir::Graph again = import_onnx(export_onnx(graph), {});
    EXPECT_EQ(again.value(again.outputs()[0]).type.shape, (ir::Shape{2, extent, 4}));
    ir::test::expect_same_function(again, graph);
  }
}

TEST(ExportOnnx, GivesAResizeSizesOfAllAxes) {
  for (const ir::Dim batch : {ir::Dim{1}, kBatch}) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type({batch, 3, 4, 2}));
    ir::Resize resize{.axis = 2, .count = 8, .scale = 2};
    resize.mode = ir::Interpolation::kLinear;
    graph.add_output(graph.add_node("y", resize, {x}));
    const auto bytes = export_onnx(graph);
    onnx_pb::ModelProto model;
    ASSERT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    for (const auto& node : model.graph().node()) {
      for (const auto& attribute : node.attribute()) EXPECT_NE(attribute.name(), "axes");
      if (node.op_type() == "Resize") {
        EXPECT_EQ(node.input_size(), 4);
      }
    }
    ir::test::expect_same_function(import_onnx(bytes, {}), graph);
  }
}

TEST(ExportOnnx, RejectsAttributesThatOnnxCannotExpress) {
  const auto refused = [](const ExportCase& test, const std::string& text) {
    ir::test::expect_error(ErrorKind::kUnsupported, text, [&] { export_onnx(graph_of(test)); });
  };
  refused({ir::BroadcastTo{{kBatch, 4}}, {{4}}, {}}, "an extent 'N' that no input has as an axis");
  refused({ir::LocalNormalize{2, 1, 1}, {{kBatch, 3, 4}}, {}}, "expected neighbours along axis 1");
}

TEST(ExportOnnx, WritesResizingWithoutANameInNewerOperatorSets) {
  ir::Resize resize{.axis = 1, .count = 5, .scale = 5.0F / 3};
  resize.coordinates = ir::Coordinates::kHalfPixelForNearest;
  for (const ir::NearestMode rounding : {ir::NearestMode::kFloor, ir::NearestMode::kCeil}) {
    resize.rounding = rounding;
    for (const bool multiplies : {false, true}) {
      resize.multiplies = multiplies;
      const ir::Graph graph = graph_of({resize, {{kBatch, 3, 4}}, {}});
      ir::test::expect_same_function(import_onnx(export_onnx(graph), {}), graph);
    }
  }
}

}  // namespace
}  // namespace halftone::formats::onnx

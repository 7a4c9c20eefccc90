// SPDX-License-Identifier: Apache-2.0
// Operators of open extents and of numbers that the network computes, at several sizes. Expected
// values are those of NumPy, by hand, or of the same file with numbers for its extents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/text.h"
#include "halftone/ir/verify.h"

namespace halftone::formats::onnx {
namespace {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::ElementsAre;

Tensor whole_numbers(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(shape, values);
}

std::vector<Tensor> inputs_of(Tensor a, Tensor b) {
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(a));
  inputs.push_back(std::move(b));
  return inputs;
}

/// The first output of a graph with the extents of its inputs.
Tensor run_sized(ir::Graph graph, const std::vector<Tensor>& inputs) {
  std::vector<std::optional<Shape>> shapes;
  for (const Tensor& input : inputs) shapes.emplace_back(input.shape());
  ir::fill_in_extents(graph, ir::sizes_of(graph, graph.inputs(), shapes));
  return std::move(ir::evaluate_graph(graph, inputs)[0]);
}

/// The same, after it was also written and read again.
Tensor run_open(const TestModel& model, const std::vector<Tensor>& inputs) {
  const ir::Graph graph = model.import();
  ir::verify(graph);
  Tensor found = run_sized(graph, inputs);
  const Tensor again = run_sized(import_onnx(export_onnx(graph), {}), inputs);
  EXPECT_EQ(again.type(), found.type());
  EXPECT_TRUE(std::ranges::equal(again.bytes(), found.bytes()));
  return found;
}

std::vector<float> elements(const Tensor& tensor) {
  const Tensor wide = tensor.cast(ElementType::kFloat32);
  return {wide.as<float>().begin(), wide.as<float>().end()};
}

/// Names an open axis of an input, which is not the batch.
TestModel& name_axis(TestModel& model, int input, int axis, const std::string& name) {
  model.proto()
      .mutable_graph()
      ->mutable_input(input)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(axis)
      ->set_dim_param(name);
  return model;
}

/// x [1, length] of an open length.
TestModel sequence(std::int64_t opset = 18) {
  TestModel model(opset);
  model.input("batch", {-1}).input("x", {1, -1}).output("y");
  return name_axis(model, 1, 1, "length");
}

Tensor run_sequence(const TestModel& model, const std::vector<float>& x) {
  return run_open(model, inputs_of(floats({1}, {0}),
                                   Tensor::from<float>({1, static_cast<ir::Dim>(x.size())}, x)));
}

TEST(ComputedNumbers, RepeatTiles) {
  TestModel model;
  model.input("x", {1, 2}).input("r", {2}, TensorProto::INT64).output("y");
  model.node("Tile", {"x", "r"}, {"y"});
  const Tensor y = run_open(model, inputs_of(floats({1, 2}, {1, 2}), whole_numbers({2}, {2, 2})));
  EXPECT_EQ(y.shape(), (Shape{2, 4}));
  EXPECT_EQ(elements(y), (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(run_open(model, inputs_of(floats({1, 2}, {1, 2}), whole_numbers({2}, {0, 1}))).shape(),
            (Shape{0, 2}));
}

TEST(ComputedNumbers, PadAndCrop) {
  TestModel model;
  model.input("x", {3}).input("p", {2}, TensorProto::INT64).output("y");
  set(model.node("Pad", {"x", "p"}, {"y"}), "mode", std::string("reflect"));
  const auto padded = [&](std::vector<std::int64_t> pads) {
    return elements(run_open(model, inputs_of(floats({3}, {1, 2, 3}), whole_numbers({2}, pads))));
  };
  EXPECT_EQ(padded({1, 2}), (std::vector<float>{2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded({-1, 1}), (std::vector<float>{2, 3, 2}));
  EXPECT_EQ(padded({0, 0}), (std::vector<float>{1, 2, 3}));
}

TEST(ComputedNumbers, AreSizesOfParts) {
  TestModel model;
  model.input("x", {4}).input("s", {2}, TensorProto::INT64).output("b").output("a");
  model.node("Split", {"x", "s"}, {"a", "b"});
  const auto second = [&](std::vector<std::int64_t> sizes) {
    return elements(
        run_open(model, inputs_of(floats({4}, {1, 2, 3, 4}), whole_numbers({2}, sizes))));
  };
  EXPECT_EQ(second({1, 3}), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(second({4, 0}), std::vector<float>{});
}

TEST(ComputedNumbers, AreSizesOfImages) {
  TestModel model(18);
  model.input("x", {1, 1, 1, 2}).input("s", {2}, TensorProto::INT64).output("y");
  model.integers("first", {1, 1});
  set(model.node("Concat", {"first", "s"}, {"sizes"}), "axis", std::int64_t{0});
  set(model.node("Resize", {"x", "", "", "sizes"}, {"y"}), "coordinate_transformation_mode",
      std::string("asymmetric"));
  const Tensor y =
      run_open(model, inputs_of(floats({1, 1, 1, 2}, {1, 2}), whole_numbers({2}, {1, 4})));
  EXPECT_EQ(elements(y), (std::vector<float>{1, 1, 2, 2}));
}

/// The scale follows when both extents have numbers.
TEST(ComputedNumbers, AreSizesOfOpenImages) {
  TestModel model(18);
  model.input("x", {1, -1}).input("s", {2}, TensorProto::INT64).output("y");
  model.input("batch", {-1});
  name_axis(model, 0, 1, "length");
  NodeProto& node = model.node("Resize", {"x", "", "", "s"}, {"y"});
  set(node, "coordinate_transformation_mode", std::string("asymmetric"));
  set(node, "nearest_mode", std::string("floor"));
  std::vector<Tensor> inputs = inputs_of(floats({1, 3}, {1, 2, 3}), whole_numbers({2}, {1, 6}));
  inputs.push_back(floats({1}, {0}));
  EXPECT_EQ(elements(run_open(model, inputs)), (std::vector<float>{1, 1, 2, 2, 3, 3}));
}

TEST(ComputedNumbers, AreClassesAndDiagonals) {
  TestModel hot;
  hot.input("i", {2}, TensorProto::INT64).input("d", {}, TensorProto::INT64).output("y");
  hot.floats("values", {2}, {0, 1});
  hot.node("OneHot", {"i", "d", "values"}, {"y"});
  EXPECT_EQ(elements(run_open(hot, inputs_of(whole_numbers({2}, {1, 0}), whole_numbers({}, {3})))),
            (std::vector<float>{0, 1, 0, 1, 0, 0}));
  TestModel upper;
  upper.input("x", {2, 2}).input("k", {}, TensorProto::INT64).output("y");
  upper.node("Trilu", {"x", "k"}, {"y"});
  EXPECT_EQ(
      elements(run_open(upper, inputs_of(floats({2, 2}, {1, 2, 3, 4}), whole_numbers({}, {1})))),
      (std::vector<float>{0, 2, 0, 0}));
}

TEST(ComputedNumbers, OfRangesBackwardAndOfFloats) {
  TestModel whole;
  whole.input("a", {}, TensorProto::INT64).input("s", {}, TensorProto::INT64).output("y");
  TensorProto zero;
  zero.set_data_type(TensorProto::INT64);
  zero.add_int64_data(0);
  whole.initializer("zero", zero);
  whole.node("Range", {"a", "zero", "s"}, {"y"});
  const auto range = [&](std::int64_t start, std::int64_t step) {
    return elements(
        run_open(whole, inputs_of(whole_numbers({}, {start}), whole_numbers({}, {step}))));
  };
  EXPECT_EQ(range(5, -2), (std::vector<float>{5, 3, 1}));
  EXPECT_EQ(range(-3, 2), (std::vector<float>{-3, -1}));
  EXPECT_EQ(range(5, 2), std::vector<float>{});
  TestModel real;
  real.input("a", {}).input("b", {}).output("y").scalar("step", 0.5F);
  real.node("Range", {"a", "b", "step"}, {"y"});
  EXPECT_EQ(elements(run_open(real, inputs_of(floats({}, {1}), floats({}, {2.2F})))),
            (std::vector<float>{1, 1.5F, 2}));
}

TEST(OpenSlices, GoBackward) {
  TestModel model = sequence();
  model.integers("start", {-1}).integers("end", {std::numeric_limits<std::int64_t>::min()});
  model.integers("axis", {1}).integers("step", {-2});
  model.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  EXPECT_EQ(elements(run_sequence(model, {1, 2, 3, 4, 5})), (std::vector<float>{5, 3, 1}));
  EXPECT_EQ(elements(run_sequence(model, {1, 2, 3, 4})), (std::vector<float>{4, 2}));
  TestModel middle = sequence();
  middle.integers("start", {2}).integers("end", {0}).integers("axis", {1}).integers("step", {-1});
  middle.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  EXPECT_EQ(elements(run_sequence(middle, {1, 2, 3, 4})), (std::vector<float>{3, 2}));
}

TEST(OpenSplits, HaveASmallerLastPart) {
  TestModel model = sequence();
  model.output("b");
  auto& node = model.node("Split", {"x"}, {"b", "y"});
  set(node, "axis", std::int64_t{1});
  set(node, "num_outputs", std::int64_t{2});
  EXPECT_EQ(elements(run_sequence(model, {1, 2, 3, 4, 5})), (std::vector<float>{4, 5}));
  EXPECT_EQ(elements(run_sequence(model, {1, 2})), (std::vector<float>{2}));
}

/// Pads x to a multiple of four with ONNX's own arithmetic.
TEST(OpenPads, FollowTheRemainderOfExtents) {
  TestModel model = sequence();
  model.integers("four", {4}).integers("axes", {1}).integers("zero", {0});
  auto& shape = model.node("Shape", {"x"}, {"n"});
  set(shape, "start", std::int64_t{1});
  model.node("Neg", {"n"}, {"minus"});
  model.node("Mod", {"minus", "four"}, {"rest"});
  set(model.node("Concat", {"zero", "rest"}, {"pads"}), "axis", std::int64_t{0});
  model.node("Pad", {"x", "pads", "", "axes"}, {"y"});
  EXPECT_EQ(elements(run_sequence(model, {1, 2, 3})), (std::vector<float>{1, 2, 3, 0}));
  EXPECT_EQ(run_sequence(model, {1, 2, 3, 4, 5}).shape(), (Shape{1, 8}));
  EXPECT_EQ(run_sequence(model, {1, 2, 3, 4}).shape(), (Shape{1, 4}));
}

/// PyTorch's exporter reverses the pairs of pads in a matrix.
TEST(OpenPads, OfReversedPairs) {
  TestModel model = sequence();
  model.integers("zeros", {0, 0, 0}).integers("pairs", {-1, 2}).integers("flat", {-1});
  model.integers("last", {-1}).integers("end", {std::numeric_limits<std::int64_t>::min()});
  model.integers("axis", {0}).integers("back", {-1});
  set(model.node("Shape", {"x"}, {"n"}), "start", std::int64_t{1});
  set(model.node("Concat", {"n", "zeros"}, {"list"}), "axis", std::int64_t{0});
  model.node("Reshape", {"list", "pairs"}, {"matrix"});
  model.node("Slice", {"matrix", "last", "end", "axis", "back"}, {"reversed"});
  set(model.node("Transpose", {"reversed"}, {"turned"}), "perm", std::vector<std::int64_t>{1, 0});
  model.node("Reshape", {"turned", "flat"}, {"pads"});
  model.node("Pad", {"x", "pads"}, {"y"});
  EXPECT_EQ(model.import().definitions().size(), 0U);
  EXPECT_EQ(elements(run_sequence(model, {1, 2})), (std::vector<float>{0, 0, 1, 2}));
}

/// Sizes by a float scale, as for F.interpolate().
TEST(OpenSizes, OfFloatArithmetic) {
  TestModel model = sequence();
  model.floats("scale", {1}, {1.5F}).integers("one", {1});
  set(model.node("Shape", {"x"}, {"n"}), "start", std::int64_t{1});
  set(model.node("Cast", {"n"}, {"real"}), "to", std::int64_t{TensorProto::FLOAT});
  model.node("Mul", {"real", "scale"}, {"scaled"});
  model.node("Floor", {"scaled"}, {"down"});
  set(model.node("Cast", {"down"}, {"size"}), "to", std::int64_t{TensorProto::INT64});
  set(model.node("Concat", {"one", "size"}, {"sizes"}), "axis", std::int64_t{0});
  set(model.node("Resize", {"x", "", "", "sizes"}, {"y"}), "nearest_mode", std::string("floor"));
  EXPECT_EQ(model.import().definitions().size(), 0U);
  EXPECT_EQ(run_sequence(model, {1, 2, 3}).shape(), (Shape{1, 4}));
  EXPECT_EQ(run_sequence(model, {1, 2, 3, 4, 5, 6}).shape(), (Shape{1, 9}));
}

TEST(OpenMasks, AreTriangles) {
  TestModel model = sequence();
  set(model.node("Shape", {"x"}, {"n"}), "start", std::int64_t{1});
  set(model.node("Concat", {"n", "n"}, {"square"}), "axis", std::int64_t{0});
  model.node("Expand", {"x", "square"}, {"all"});
  set(model.node("Trilu", {"all"}, {"y"}), "upper", std::int64_t{0});
  EXPECT_EQ(elements(run_sequence(model, {1, 2})), (std::vector<float>{1, 0, 1, 2}));
  EXPECT_EQ(elements(run_sequence(model, {1, 2, 3})),
            (std::vector<float>{1, 0, 0, 1, 2, 0, 1, 2, 3}));
}

/// Padding of auto_pad against the same file with numbers.
TEST(OpenWindows, HavePaddingThatFollowsTheExtent) {
  for (const std::string mode : {"SAME_UPPER", "SAME_LOWER"}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      const auto model = [&](std::int64_t extent) {
        TestModel result;
        result.input("x", {1, 1, extent}).output("y").floats("w", {1, 1, 4}, {1, 2, 3, 4});
        if (extent < 0) {
          result.input("batch", {-1});
          name_axis(result, 0, 2, "length");
        }
        auto& node = result.node("Conv", {"x", "w"}, {"y"});
        set(node, "auto_pad", mode);
        set(node, "strides", std::vector<std::int64_t>{stride});
        return result;
      };
      for (const ir::Dim extent : {5, 6, 7}) {
        const Tensor x = ir::test::counting({1, 1, extent});
        const Tensor y = run_open(model(-1), inputs_of(x.clone(), floats({1}, {0})));
        std::vector<Tensor> only;
        only.push_back(x.clone());
        const Tensor wanted = std::move(ir::evaluate_graph(model(extent).import(), only)[0]);
        EXPECT_EQ(elements(y), elements(wanted)) << mode << stride << " " << extent;
      }
    }
  }
}

TEST(MixedSamples, MakeTheBatchAnExtent) {
  TestModel model;
  model.input("x", {-1, 2}).output("y").integers("rows", {0});
  model.node("ReduceMean", {"x"}, {"m"});
  model.node("Sub", {"x", "m"}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_EQ(ir::open_extents(graph), std::vector<std::string>{"'N'"});
  std::vector<Tensor> x;
  x.push_back(floats({2, 2}, {1, 2, 3, 6}));
  EXPECT_THAT(elements(run_open(model, x)), ElementsAre(-2, -1, 0, 3));
}

/// The batch stays what it is where the caller says so.
TEST(MixedSamples, AreRefusedForABatchThatTheCallerNames) {
  struct Refusal {
    std::string op_type;
    std::vector<std::string> operands;
    std::string text;
  };
  const std::string part = "cannot select a part of the batch";
  for (const auto& [op_type, operands, text] :
       {Refusal{"Slice", {"one", "two"}, part}, Refusal{"Split", {}, part},
        Refusal{"Pad", {"less"}, part}, Refusal{"Trilu", {}, "without the batch axis"},
        Refusal{"CenterCropPad", {"two_two"}, "cannot crop or pad the batch"},
        Refusal{"OneHot", {"n", "values"}, "a depth that is the batch"},
        Refusal{"Hardmax", {}, "the samples of the batch"}}) {
    TestModel model;
    model.input("x", {-1, 3}, op_type == "OneHot" ? TensorProto::INT64 : TensorProto::FLOAT);
    model.output("y").integers("one", {1}).integers("two", {2}).integers("two_two", {2, 2});
    model.integers("less", {-1, 0, 0, 0}).floats("values", {2}, {0, 1});
    set(model.node("Shape", {"x"}, {"n"}), "end", std::int64_t{1});
    std::vector<std::string> inputs{"x"};
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    set(model.node(op_type, inputs, {"y"}), "axis", std::int64_t{0});
    ImportOptions options;
    options.shapes.emplace("x", Shape{ir::kBatch, 3});
    expect_error(ErrorKind::kUnsupported, text,
                 [&] { (void)import_onnx(model.bytes(), {}, options); });
  }
}

/// What needs numbers says so.
TEST(OpenOperators, AreRefusedWhereTheyNeedNumbers) {
  TestModel linear = sequence();
  linear.integers("three", {1, -1, 1}).node("Reshape", {"x", "three"}, {"rows"});
  auto& steps = linear.node("LinearAttention", {"rows", "rows", "rows"}, {"y"});
  set(steps, "q_num_heads", std::int64_t{1});
  set(steps, "kv_num_heads", std::int64_t{1});
  expect_failure(linear, ErrorKind::kUnsupported, "1 to 1024 steps, found length");
  TestModel size = sequence();
  size.input("s", {2}).node("Resize", {"x", "", "", "s"}, {"y"});
  expect_failure(size, ErrorKind::kUnsupported, "input 3: expected a vector of integers");
  TestModel tiles = sequence();
  tiles.input("r", {2}).node("Tile", {"x", "r"}, {"y"});
  expect_failure(tiles, ErrorKind::kUnsupported, "input 1: expected a vector of integers");
  TestModel parts = sequence();
  parts.input("s", {1}).node("Split", {"x", "s"}, {"y"});
  expect_failure(parts, ErrorKind::kUnsupported, "input 1: expected a vector of integers");
  TestModel crop = sequence();
  crop.input("s", {2}).node("CenterCropPad", {"x", "s"}, {"y"});
  expect_failure(crop, ErrorKind::kUnsupported, "input 1: expected a vector of integers");
}

TEST(OpenOperators, AreRefusedForImagesThatNeedNumbers) {
  const auto image = [](const std::vector<std::int64_t>& dims) {
    TestModel model(20);
    model.input("batch", {-1}).input("x", dims).output("y");
    return name_axis(model, 1, 2, "length");
  };
  TestModel transposed = image({1, 1, -1});
  transposed.floats("w", {1, 1, 2}, {1, 1});
  set(transposed.node("ConvTranspose", {"x", "w"}, {"y"}), "output_shape",
      std::vector<std::int64_t>{4});
  expect_failure(transposed, ErrorKind::kUnsupported, "an output_shape of an open extent");
  TestModel attention;
  attention.proto().add_opset_import()->set_domain("com.microsoft");
  attention.proto().mutable_opset_import(attention.proto().opset_import_size() - 1)->set_version(1);
  attention.input("batch", {-1}).input("q", {1, 1, 4}).input("c", {1, 1, -1, 4});
  name_axis(attention.output("y"), 2, 2, "length").integers("n", {0});
  NodeProto& node =
      attention.node("GroupQueryAttention", {"q", "q", "q", "c", "c", "n", "n"}, {"y"});
  node.set_domain("com.microsoft");
  set(node, "num_heads", std::int64_t{1});
  set(node, "kv_num_heads", std::int64_t{1});
  expect_failure(attention, ErrorKind::kUnsupported, "a cache of an open extent, found length");
}

TEST(MixedSamples, OfBoxesOfAllImages) {
  TestModel model;
  model.input("b", {-1, 2, 4}).input("s", {-1, 1, 2}).output("y");
  model.integers("most", {3}).floats("iou", {1}, {0.5F});
  model.node("NonMaxSuppression", {"b", "s", "most", "iou"}, {"y"});
  const Tensor boxes = floats({2, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6});
  const Tensor y = run_open(model, inputs_of(boxes.clone(), floats({2, 1, 2}, {1, 2, 1, 2})));
  // Of equal boxes the better one; of others both, the better one first.
  EXPECT_EQ(elements(y), (std::vector<float>{0, 0, 1, 1, 0, 1, 1, 0, 0}));
}

}  // namespace
}  // namespace halftone::formats::onnx

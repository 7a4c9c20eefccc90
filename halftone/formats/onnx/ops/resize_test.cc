// SPDX-License-Identifier: Apache-2.0
// Resize as ONNX Runtime computes it. The values are those of ONNX Runtime 1.32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/open_extents.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using testing::FloatNear;
using testing::Pointwise;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

/// The attributes of a Resize.
struct Mode {
  std::string mode = "nearest";
  std::string coordinates = "asymmetric";
  std::string rounding = "floor";
};

/// A Resize of a value that holds 0, 1, 2, ..., by scales or by sizes.
struct ResizeCase {
  Ints shape;
  Floats scales;
  Ints sizes;
  Mode mode;
  std::int64_t opset = 17;
  std::function<void(TestModel&, NodeProto&)> fill{};
};

TestModel model_of(const ResizeCase& test) {
  TestModel model(test.opset);
  model.input("x", test.shape).output("y");
  if (!test.scales.empty()) model.floats("s", {std::ssize(test.scales)}, test.scales);
  if (!test.sizes.empty()) model.integers("z", test.sizes);
  std::vector<std::string> inputs = {"x", "", "s"};
  if (!test.sizes.empty()) inputs = {"x", "", "", "z"};
  if (test.opset < 11) inputs = {"x", "s"};
  NodeProto& node = model.node("Resize", inputs, {"y"});
  set(node, "mode", test.mode.mode);
  if (test.opset >= 11) {
    set(node, "coordinate_transformation_mode", test.mode.coordinates);
    set(node, "nearest_mode", test.mode.rounding);
  }
  if (test.fill) test.fill(model, node);
  return model;
}

void expect_values(const ResizeCase& test, const Floats& expected) {
  const ir::Graph graph = model_of(test).import();
  const ir::Tensor x = ir::test::counting(ir::Shape(test.shape));
  const Floats found = numbers(run_reference(graph, list(x.clone()))[0]);
  EXPECT_THAT(found, Pointwise(FloatNear(1e-4F), expected)) << test.mode.coordinates;
  // What is written computes the same.
  const ir::Graph again = import_onnx(export_onnx(graph), {});
  EXPECT_THAT(numbers(run_reference(again, list(x.clone()))[0]),
              Pointwise(FloatNear(1e-4F), expected))
      << test.mode.coordinates;
}

TEST(OnnxResize, MultipliesAndDividesInFloat32) {
  // 10 x 1.3 is 13 in float32, 12.99.. in float64; 3 / 0.6 is 5, not 4.99..
  expect_values({{10, 1}, {1.3F, 1}, {}, {}}, {0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9});
  expect_values({{10, 1}, {0.6F, 1}, {}, {}}, {0, 1, 3, 5, 6, 8});
}

TEST(OnnxResize, AlignsCornersOfTheRoundedExtent) {
  expect_values({{3, 1}, {2.5F, 1}, {}, {"linear", "align_corners"}},
                {0, 0.3333F, 0.6667F, 1, 1.3333F, 1.6667F, 2});
  expect_values({{3, 1}, {2.5F, 1}, {}, {"cubic", "align_corners"}},
                {0, 0.2593F, 0.5741F, 1, 1.4259F, 1.7407F, 2});
}

TEST(OnnxResize, RoundsUpWhereOldImagesShrink) {
  expect_values({{4, 1}, {0.6F, 1}, {}, {}, 10}, {0, 2});
  expect_values({{4, 1}, {1.5F, 1}, {}, {}, 10}, {0, 0, 1, 2, 2, 3});
}

TEST(OnnxResize, TakesOneElementFromTheFirst) {
  expect_values({{5, 1}, {0.25F, 1}, {}, {"cubic", "pytorch_half_pixel"}}, {0});
}

TEST(OnnxResize, CopiesWhatKeepsAllExtents) {
  expect_values({{3, 1}, {1.1F, 1}, {}, {"linear", "half_pixel"}}, {0, 1, 2});
  const auto crop = [](TestModel& model, NodeProto& node) {
    model.floats("r", {4}, {0.25F, 0, 0.75F, 1});
    node.set_input(1, "r");
  };
  const Mode crops{"linear", "tf_crop_and_resize", "floor"};
  expect_values({{4, 1}, {}, {4, 1}, crops, 17, crop}, {0, 1, 2, 3});
  expect_values({{4, 1}, {}, {3, 1}, crops, 17, crop}, {0.75F, 1.5F, 2.25F});
}

TEST(OnnxResize, InterpolatesAKeptExtentBesideAnotherOne) {
  // 4 x 1.1 is 4, but the other axis grows. Values of ONNX Runtime, by hand for the first axis:
  // rows at 0, 0.8636, 1.7727, 2.6818.
  const ResizeCase test{{4, 2}, {1.1F, 1.5F}, {}, {"linear", "half_pixel"}};
  expect_values(test, {0, 0.5F, 1, 1.7273F, 2.2273F, 2.7273F, 3.5455F, 4.0455F, 4.5455F, 5.3636F,
                       5.8636F, 6.3636F});
}

TEST(OnnxResize, ExtrapolatesBehindTheCroppedExtent) {
  const auto crop = [](TestModel& model, NodeProto& node) {
    model.floats("r", {4}, {0, 0, 1.5F, 1});
    node.set_input(1, "r");
    set(node, "extrapolation_value", -7.0F);
  };
  expect_values({{4, 1}, {0.85F, 1}, {}, {"linear", "tf_crop_and_resize"}, 17, crop},
                {0, 2.25F, -7});
}

TEST(OnnxResize, CentresSymmetrically) {
  expect_values({{4, 1}, {0.65F, 1}, {}, {"linear", "half_pixel_symmetric"}, 19},
                {0.7308F, 2.2692F});
}

TEST(OnnxResize, KeepsProportionsWithRoundedExtents) {
  const auto keep = [](const std::string& policy) {
    return [policy](TestModel&, NodeProto& node) { set(node, "keep_aspect_ratio_policy", policy); };
  };
  expect_values({{3, 4}, {}, {7, 5}, {}, 18, keep("not_larger")},
                {0, 0, 1, 2, 3, 0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11});
  // The batch is one of the axes, and becomes an extent like others.
  TestModel model(18);
  model.input("x", {-1, 2}).output("y").integers("zero", {0}).integers("four", {4});
  set(model.node("Shape", {"x"}, {"n"}), "end", std::int64_t{1});
  set(model.node("Concat", {"n", "four"}, {"z"}), "axis", std::int64_t{0});
  NodeProto& node = model.node("Resize", {"x", "", "", "z"}, {"y"});
  set(node, "keep_aspect_ratio_policy", "not_smaller");
  ir::Graph graph = model.import();
  ir::fill_in_extents(graph, {{"'N'", 3}});
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{6, 4}));
}

std::vector<std::string> written_operators(const ResizeCase& test) {
  const auto bytes = export_onnx(model_of(test).import());
  onnx_pb::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

TEST(OnnxResize, WritesOthersAsAChoiceOrAProduct) {
  using testing::Contains;
  using testing::Not;
  EXPECT_THAT(written_operators({{2, 3}, {1, 1.5F}, {}, {}}), Contains("Resize"));
  EXPECT_THAT(written_operators({{4, 2}, {1.1F, 1.5F}, {}, {}}), Contains("Gather"));
  EXPECT_THAT(written_operators({{4, 2}, {1.1F, 1.5F}, {}, {"linear", "half_pixel"}}),
              Contains("MatMul"));
  // Runtimes take cubic interpolation of images only.
  EXPECT_THAT(written_operators({{2, 3, 4}, {1, 1, 1.5F}, {}, {"cubic", "half_pixel"}}),
              Not(Contains("Resize")));
}

}  // namespace
}  // namespace halftone::formats::onnx

// SPDX-License-Identifier: Apache-2.0
// Operators of open extents at several sizes, before and after they were written. Expected values
// are those of the same file with numbers for its extents, which ONNX's own cases test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/verify.h"

namespace halftone::formats::onnx {
namespace {

using ir::Shape;
using ir::Tensor;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::FloatNear;
using testing::Pointwise;
using Dims = std::vector<std::int64_t>;

/// Nodes from "x" to "y", and sizes of x, which differ in the extents that the file leaves open.
struct OpenCase {
  std::string name;
  std::function<void(TestModel&)> fill;
  std::vector<Dims> sizes;
  bool is_written = true;
};

/// @param dims  -1: left open
TestModel open_model(const OpenCase& test, const Dims& dims) {
  TestModel model(28);
  model.input("batch", {-1}).input("x", dims).output("y");
  auto* shape = model.proto().mutable_graph()->mutable_input(1)->mutable_type();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto* dim = shape->mutable_tensor_type()->mutable_shape()->mutable_dim(static_cast<int>(i));
    if (dims[i] < 0) dim->set_dim_param("d" + std::to_string(i));
  }
  test.fill(model);
  return model;
}

std::vector<float> sized_result(ir::Graph graph, const Tensor& x) {
  std::vector<Tensor> inputs;
  inputs.push_back(floats({1}, {0}));
  inputs.push_back(x.clone());
  std::vector<std::optional<Shape>> shapes{inputs[0].shape(), inputs[1].shape()};
  ir::fill_in_extents(graph, ir::sizes_of(graph, graph.inputs(), shapes));
  const Tensor y = ir::evaluate_graph(graph, inputs)[0].cast(ir::ElementType::kFloat32);
  std::vector<float> elements(y.as<float>().begin(), y.as<float>().end());
  for (const ir::Dim extent : y.shape().dims()) elements.push_back(static_cast<float>(extent));
  return elements;
}

/// Sums of up to 64 products of numbers up to 4, with angles and positions up to 16 that are
/// rounded to float32.
constexpr float kTolerance = 64 * 4 * 16 * 6e-8F;

void expect_the_same_open(const OpenCase& test) {
  Dims open = test.sizes[0];
  for (const Dims& size : test.sizes) {
    for (std::size_t i = 0; i < size.size(); ++i) open[i] = size[i] == open[i] ? open[i] : -1;
  }
  const ir::Graph graph = open_model(test, open).import();
  ir::verify(graph);
  EXPECT_FALSE(ir::open_extents(graph).empty()) << test.name;
  EXPECT_TRUE(graph.definitions().empty()) << test.name;
  for (const Dims& size : test.sizes) {
    const Shape shape(std::vector<ir::Dim>(size.begin(), size.end()));
    const Tensor x = ir::test::random_tensor(shape, 3);
    const auto wanted = sized_result(open_model(test, size).import(), x);
    EXPECT_THAT(sized_result(graph, x), Pointwise(FloatNear(kTolerance), wanted)) << test.name;
    if (!test.is_written) continue;
    const ir::Graph again = import_onnx(export_onnx(graph), {});
    EXPECT_THAT(sized_result(again, x), Pointwise(FloatNear(kTolerance), wanted)) << test.name;
  }
}

std::function<void(TestModel&)> transform(bool onesided, bool inverse, const std::string& length) {
  return [=](TestModel& model) {
    model.integers("length", {6});
    TensorProto axis;
    axis.set_data_type(TensorProto::INT64);
    axis.add_int64_data(1);
    model.initializer("one", axis);
    auto& node = model.node("DFT", {"x", length, "one"}, {"y"});
    set(node, "onesided", std::int64_t{onesided ? 1 : 0});
    set(node, "inverse", std::int64_t{inverse ? 1 : 0});
  };
}

const std::vector<Dims> kImages = {{1, 2, 5, 6}, {1, 2, 8, 3}, {1, 2, 7, 7}};

TEST(OpenTransforms, HaveTheMatrixOfTheirLength) {
  for (const std::int64_t parts : {1, 2}) {
    const std::vector<Dims> sizes = {{2, 5, parts}, {2, 8, parts}, {2, 3, parts}};
    expect_the_same_open({"DFT", transform(false, false, ""), sizes});
    expect_the_same_open({"inverse", transform(false, true, ""), sizes});
  }
  const std::vector<Dims> sizes = {{2, 5, 1}, {2, 8, 1}};
  expect_the_same_open({"onesided", transform(true, false, ""), sizes});
  expect_the_same_open({"of 6", transform(true, false, "length"), sizes});
  expect_the_same_open({"mirrored", transform(true, true, ""), {{2, 5, 2}, {2, 4, 2}}});
}

/// PyTorch's first exporter writes real signals without an axis of parts.
TEST(OpenTransforms, OfFramesOfASignal) {
  const auto frames = [](TestModel& model) {
    TensorProto step;
    step.set_data_type(TensorProto::INT64);
    step.add_int64_data(2);
    model.initializer("step", step).floats("window", {4}, {0.5F, 1, 1, 0.5F});
    model.node("STFT", {"x", "step", "window"}, {"y"});
  };
  expect_the_same_open({"STFT", frames, {{1, 8}, {1, 11}}});
}

TEST(OpenGrids, AreSampled) {
  const auto volume = [](TestModel& model) {
    model.floats("grid", {1, 1, 2, 1, 3}, {0.5F, -0.25F, 0, -1, 1, 0.75F});
    set(model.node("GridSample", {"x", "grid"}, {"y"}), "padding_mode", std::string("border"));
  };
  expect_the_same_open({"GridSample", volume, {{1, 2, 3, 4, 5}, {1, 2, 5, 2, 3}}});
  for (const std::int64_t align : {0, 1}) {
    const auto affine = [=](TestModel& model) {
      model.floats("theta", {1, 2, 3}, {0.8F, 0.1F, 0, -0.2F, 0.9F, 0.1F});
      model.node("Shape", {"x"}, {"size"});
      auto& node = model.node("AffineGrid", {"theta", "size"}, {"grid"});
      set(node, "align_corners", align);
      set(model.node("GridSample", {"x", "grid"}, {"y"}), "align_corners", align);
    };
    expect_the_same_open({"AffineGrid", affine, kImages});
  }
}

TEST(OpenWindows, AreDeformed) {
  const auto deformed = [](TestModel& model) {
    model.floats("w", {2, 2, 1, 2}, {1, 2, 3, 4, -1, 0.5F, 0.25F, 2});
    std::vector<float> weights(16);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(i % 5) / 4 - 0.4F;
    }
    model.floats("v", {4, 2, 1, 2}, weights);
    set(model.node("Conv", {"x", "v"}, {"offset"}), "strides", Dims{2, 1});
    set(model.node("DeformConv", {"x", "w", "offset"}, {"y"}), "strides", Dims{2, 1});
  };
  expect_the_same_open({"DeformConv", deformed, kImages});
}

TEST(OpenWindows, PutMaximaBack) {
  const auto unpooled = [](TestModel& model) {
    auto& pool = model.node("MaxPool", {"x"}, {"m", "i"});
    set(pool, "kernel_shape", Dims{2, 2});
    set(pool, "strides", Dims{2, 2});
    auto& back = model.node("MaxUnpool", {"m", "i"}, {"y"});
    set(back, "kernel_shape", Dims{2, 2});
    set(back, "strides", Dims{2, 2});
  };
  expect_the_same_open({"MaxUnpool", unpooled, {{2, 2, 4, 6}, {2, 2, 8, 2}}});
}

TEST(OpenWindows, AddColumnsToImages) {
  for (const std::int64_t stride : {1, 2}) {
    const auto fold = [=](TestModel& model) {
      // Columns of one number for each position of the window.
      model.floats("w", {6, 1, 2, 3}, std::vector<float>(36, 0.5F)).integers("kernel", {2, 3});
      auto& conv = model.node("Conv", {"x", "w"}, {"c"});
      set(conv, "strides", Dims{stride, stride});
      set(conv, "pads", Dims{1, 0, 1, 0});
      model.integers("flat", {0, 0, -1});
      model.node("Reshape", {"c", "flat"}, {"columns"});
      model.node("Shape", {"x"}, {"shape"});
      model.integers("begin", {2}).integers("end", {4});
      model.node("Slice", {"shape", "begin", "end"}, {"image"});
      auto& node = model.node("Col2Im", {"columns", "image", "kernel"}, {"y"});
      set(node, "strides", Dims{stride, stride});
      set(node, "pads", Dims{1, 0, 1, 0});
    };
    expect_the_same_open({"Col2Im", fold, {{1, 1, 5, 6}, {1, 1, 4, 9}, {1, 1, 7, 3}}});
  }
}

TEST(OpenProducts, OfNeighbours) {
  for (const std::int64_t exclusive : {0, 1}) {
    for (const std::int64_t reverse : {0, 1}) {
      const auto products = [=](TestModel& model) {
        TensorProto axis;
        axis.set_data_type(TensorProto::INT64);
        axis.add_int64_data(1);
        auto& node = model.initializer("one", axis).node("CumProd", {"x", "one"}, {"y"});
        set(node, "exclusive", exclusive);
        set(node, "reverse", reverse);
      };
      expect_the_same_open({"CumProd", products, {{2, 5}, {2, 1}, {2, 8}}});
    }
  }
}

/// Scales of images, also the quotient of another extent and their own.
TEST(OpenResizes, ByScales) {
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    const auto by_number = [=](TestModel& model) {
      model.floats("scales", {4}, {1, 1, 1.3F, 0.7F});
      set(model.node("Resize", {"x", "", "scales"}, {"y"}), "mode", mode);
    };
    const std::vector<Dims> sizes = {{1, 1, 10, 90}, {1, 1, 7, 11}, {1, 1, 90, 7}};
    expect_the_same_open({mode, by_number, sizes});
    const auto by_quotient = [=](TestModel& model) {
      model.floats("ones", {3}, {1, 1, 1}).floats("wanted", {1}, {7}).integers("two", {2});
      model.integers("three", {3}).node("Shape", {"x"}, {"shape"});
      model.node("Slice", {"shape", "two", "three"}, {"h"});
      set(model.node("Cast", {"h"}, {"height"}), "to", std::int64_t{TensorProto::FLOAT});
      model.node("Div", {"wanted", "height"}, {"scale"});
      model.floats("pair", {2}, {1, 1});
      set(model.node("Concat", {"pair", "scale", "scale"}, {"scales"}), "axis", std::int64_t{0});
      set(model.node("Resize", {"x", "", "scales"}, {"y"}), "mode", mode);
    };
    expect_the_same_open({mode, by_quotient, {{1, 1, 10, 9}, {1, 1, 7, 11}, {1, 1, 41, 5}}});
  }
}

TEST(OpenResizes, KeepProportions) {
  for (const std::string policy : {"not_larger", "not_smaller"}) {
    const auto kept = [=](TestModel& model) {
      model.integers("sizes", {7, 9});
      auto& node = model.node("Resize", {"x", "", "", "sizes"}, {"y"});
      set(node, "axes", Dims{2, 3});
      set(node, "mode", std::string("linear"));
      set(node, "keep_aspect_ratio_policy", policy);
    };
    const OpenCase test{policy, kept, {{1, 1, 5, 4}, {1, 1, 10, 30}, {1, 1, 7, 9}}, false};
    expect_the_same_open(test);
    expect_error(ErrorKind::kUnsupported, "a Resize of [1, 1, d2, d3", [&] {
      (void)export_onnx(open_model(test, {1, 1, -1, -1}).import());
    });
  }
}

TEST(OpenStates, FollowTheSteps) {
  const auto convolution = [](TestModel& model) {
    model.floats("w", {2, 1, 3}, {1, 2, 3, -1, 0.5F, 2});
    model.node("CausalConvWithState", {"x", "w"}, {"c", "state"});
    set(model.node("Concat", {"c", "state"}, {"y"}), "axis", std::int64_t{2});
  };
  expect_the_same_open({"CausalConvWithState", convolution, {{1, 2, 4}, {1, 2, 9}}});
  const auto scatter = [](TestModel& model) {
    model.floats("update", {1, 2, 2}, {1, 2, 3, 4}).integers("start", {1});
    auto& node = model.node("TensorScatter", {"x", "update", "start"}, {"y"});
    set(node, "mode", std::string("circular"));
  };
  expect_the_same_open({"TensorScatter", scatter, {{1, 3, 2}, {1, 6, 2}}});
}

TEST(OpenAttention, SeesStepsWithinReach) {
  const auto attention = [](TestModel& model) {
    auto& node = model.node("Attention", {"x", "x", "x"}, {"y"});
    set(node, "q_num_heads", std::int64_t{2});
    set(node, "kv_num_heads", std::int64_t{2});
    set(node, "is_causal", std::int64_t{1});
  };
  const std::vector<Dims> sizes = {{1, 4, 6}, {1, 1, 6}, {1, 9, 6}};
  expect_the_same_open({"Attention", attention, sizes});
  const auto fused = [](const std::string& op_type, const std::vector<std::string>& inputs) {
    return [=](TestModel& model) {
      auto* domain = model.proto().add_opset_import();
      domain->set_domain("com.microsoft");
      domain->set_version(1);
      model.integers("n", {3}).integers("m", {2});
      NodeProto& node = model.node(op_type, inputs, {"y"});
      node.set_domain("com.microsoft");
      set(node, "num_heads", std::int64_t{2});
      if (op_type == "GroupQueryAttention") set(node, "kv_num_heads", std::int64_t{2});
    };
  };
  expect_the_same_open(
      {"MultiHeadAttention", fused("MultiHeadAttention", {"x", "x", "x", "", "n"}), sizes});
  expect_the_same_open({"GroupQueryAttention",
                        fused("GroupQueryAttention", {"x", "x", "x", "", "", "m", "n"}), sizes});
}

/// Over an open axis a file has no LayerNormalization, whose scales need numbers.
TEST(OpenNorms, AreOverExtents) {
  const auto norm = [](TestModel& model) {
    model.floats("scale", {2}, {1, 2}).floats("bias", {2}, {0, 1});
    model.node("InstanceNormalization", {"x", "scale", "bias"}, {"y"});
  };
  expect_the_same_open({"InstanceNormalization", norm, {{1, 2, 5}, {1, 2, 9}}});
}

/// The quotient of a sum and another one that divides it.
TEST(OpenShapes, AreQuotientsOfSums) {
  const auto split = [](TestModel& model) {
    set(model.node("MaxPool", {"x"}, {"shorter"}), "kernel_shape", Dims{2});
    set(model.node("Shape", {"shorter"}, {"steps"}), "start", std::int64_t{2});
    model.integers("rest", {-1});
    set(model.node("Concat", {"steps", "rest"}, {"shape"}), "axis", std::int64_t{0});
    model.node("Reshape", {"shorter", "shape"}, {"y"});
  };
  expect_the_same_open({"Reshape", split, {{1, 2, 5}, {1, 2, 9}}});
}

TEST(OpenTexts, CountTokens) {
  const auto grams = [](TestModel& model) {
    set(model.node("Cast", {"x"}, {"tokens"}), "to", std::int64_t{TensorProto::INT64});
    NodeProto& node = model.node("TfIdfVectorizer", {"tokens"}, {"y"});
    set(node, "mode", std::string("TF"));
    set(node, "min_gram_length", std::int64_t{1});
    set(node, "max_gram_length", std::int64_t{2});
    set(node, "max_skip_count", std::int64_t{1});
    set(node, "pool_int64s", Dims{0, 1, 0, 0, 1, 0});
    set(node, "ngram_counts", Dims{0, 2});
    set(node, "ngram_indexes", Dims{0, 1, 2, 3});
  };
  expect_the_same_open({"TfIdfVectorizer", grams, {{1, 12}, {1, 5}, {1, 30}}});
}

TEST(OpenLosses, AreMeansOverExtents) {
  const auto loss = [](TestModel& model) {
    auto& best = model.node("ArgMin", {"x"}, {"t"});
    set(best, "axis", std::int64_t{1});
    set(best, "keepdims", std::int64_t{0});
    model.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y"});
  };
  expect_the_same_open({"SoftmaxCrossEntropyLoss", loss, {{1, 3, 4}, {1, 3, 7}}});
}

}  // namespace
}  // namespace halftone::formats::onnx

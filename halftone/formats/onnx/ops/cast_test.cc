// SPDX-License-Identifier: Apache-2.0
// Conversions to types of few bits. The values are those of ONNX 1.23's test cases, and of its
// definition of saturation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using Floats = std::vector<float>;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

/// The numbers of a Cast of x.
Floats cast(std::int32_t target, const Floats& x, std::int64_t saturate = 1) {
  TestModel model(25);
  model.input("x", {std::ssize(x)}).output("y");
  NodeProto& node = model.node("Cast", {"x"}, {"y"});
  set(node, "to", std::int64_t{target});
  set(node, "saturate", saturate);
  const auto outputs = run_reference(model.import(), list(floats({std::ssize(x)}, x)));
  const ir::Tensor y = outputs[0].cast(ir::ElementType::kFloat32);
  return {y.as<float>().begin(), y.as<float>().end()};
}

TEST(CastToFloat8, RoundsAndSaturates) {
  const Floats x{0.47892547F, 0.49968487F, 0.81910545F, 1e6F, 1e-7F, -kInfinite};
  EXPECT_EQ(cast(TensorProto::FLOAT8E4M3FN, x), (Floats{0.46875F, 0.5F, 0.8125F, 448, 0, -448}));
  EXPECT_EQ(cast(TensorProto::FLOAT8E4M3FNUZ, x), (Floats{0.46875F, 0.5F, 0.8125F, 240, 0, -240}));
  EXPECT_EQ(cast(TensorProto::FLOAT8E5M2, x), (Floats{0.5F, 0.5F, 0.875F, 57344, 0, -57344}));
  EXPECT_TRUE(std::isnan(cast(TensorProto::FLOAT8E4M3FN, {kNoNumber})[0]));
  EXPECT_TRUE(std::isnan(cast(TensorProto::FLOAT8E4M3FN, {1e6F}, 0)[0]));
  EXPECT_EQ(cast(TensorProto::FLOAT8E5M2, {-1e6F}, 0), Floats{-kInfinite});
}

TEST(CastToFloat4, HasNoSpecialNumbers) {
  EXPECT_EQ(cast(TensorProto::FLOAT4E2M1, {0.48F, 0.25F, 1.05F, -3.5F, -8, kInfinite, kNoNumber}),
            (Floats{0.5F, 0, 1, -4, -6, 6, 0}));
}

TEST(CastToNarrowIntegers, KeepsTheLowestBits) {
  const Floats x{-9, -8, -1.5F, 0, 7, 8, 15};
  EXPECT_EQ(cast(TensorProto::INT4, x), (Floats{7, -8, -1, 0, 7, -8, -1}));
  EXPECT_EQ(cast(TensorProto::UINT4, x), (Floats{7, 8, 15, 0, 7, 8, 15}));
  EXPECT_EQ(cast(TensorProto::INT2, {-3, -2, 1, 2, 3}), (Floats{1, -2, 1, -2, -1}));
  EXPECT_EQ(cast(TensorProto::UINT2, {-3, -2, 1, 2, 3}), (Floats{1, 2, 1, 2, 3}));
}

TEST(CastLike, FollowsATypeOfFewBits) {
  TestModel model(25);
  model.input("x", {3}).input("like", {2, 3}, TensorProto::INT4).output("y").output("z");
  // Moving the elements keeps their type.
  model.node("Transpose", {"like"}, {"turned"});
  model.node("CastLike", {"x", "turned"}, {"y"});
  NodeProto& wide = model.node("Cast", {"turned"}, {"w"});
  set(wide, "to", std::int64_t{TensorProto::INT8});
  model.node("CastLike", {"x", "w"}, {"z"});
  std::vector<ir::Tensor> inputs = list(floats({3}, {9, -9, 1}));
  inputs.emplace_back(ir::ElementType::kInt8, ir::Shape{2, 3});
  const auto outputs = run_reference(model.import(), inputs);
  const auto y = outputs[0].as<std::int8_t>();
  EXPECT_EQ(std::vector<int>(y.begin(), y.end()), (std::vector<int>{-7, 7, 1}));
  const auto z = outputs[1].as<std::int8_t>();
  EXPECT_EQ(std::vector<int>(z.begin(), z.end()), (std::vector<int>{9, -9, 1}));
}

TEST(BitCast, ReadsIntegersAsOthers) {
  TestModel model(26);
  model.input("x", {2}, TensorProto::INT16).output("y");
  set(model.node("BitCast", {"x"}, {"y"}), "to", std::int64_t{TensorProto::UINT16});
  ir::Tensor x(ir::ElementType::kInt16, {2});
  x.as<std::int16_t>()[0] = -2;
  x.as<std::int16_t>()[1] = 5;
  const auto outputs = run_reference(model.import(), list(std::move(x)));
  const auto y = outputs[0].as<std::uint16_t>();
  EXPECT_EQ(std::vector<int>(y.begin(), y.end()), (std::vector<int>{65534, 5}));
}

TEST(BitCast, ReadsConstantsAsFloats) {
  TestModel model(26);
  model.input("x", {2}).output("y");
  TensorProto bits;
  bits.set_data_type(TensorProto::INT32);
  bits.add_dims(2);
  for (const int number : {0x3F800000, 0x40490FDB}) bits.add_int32_data(number);
  model.initializer("bits", bits);
  set(model.node("BitCast", {"bits"}, {"b"}), "to", std::int64_t{TensorProto::FLOAT});
  model.node("Add", {"x", "b"}, {"y"});
  EXPECT_EQ(numbers(run_reference(model.import(), list(floats({2}, {0, 0})))[0]),
            (Floats{1, 3.14159274F}));
}

}  // namespace
}  // namespace halftone::formats::onnx

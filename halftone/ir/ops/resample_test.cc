// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/resample.h"

#include <limits>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using test::infer_shape;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

void expect_values(const Tensor& tensor, const std::vector<float>& expected) {
  EXPECT_THAT(elements<float>(tensor), Pointwise(FloatNear(1e-5F), expected));
}

Resize resize(std::size_t count, float scale, Interpolation mode, Coordinates coordinates) {
  Resize op;
  op.count = count;
  op.scale = scale;
  op.mode = mode;
  op.coordinates = coordinates;
  return op;
}

TEST(Resize, UsesItsCoordinates) {
  const Tensor x = floats({4}, {0, 10, 20, 30});
  const struct {
    Coordinates coordinates;
    std::size_t count;
    std::vector<float> expected;
  } cases[] = {
      {Coordinates::kHalfPixel, 8, {0, 2.5F, 7.5F, 12.5F, 17.5F, 22.5F, 27.5F, 30}},
      {Coordinates::kHalfPixelSymmetric, 8, {0, 2.5F, 7.5F, 12.5F, 17.5F, 22.5F, 27.5F, 30}},
      {Coordinates::kPytorchHalfPixel, 2, {5, 25}},
      {Coordinates::kPytorchHalfPixel, 1, {0}},
      {Coordinates::kAlignCorners, 7, {0, 5, 10, 15, 20, 25, 30}},
      {Coordinates::kAlignCorners, 1, {0}},
      {Coordinates::kAsymmetric, 8, {0, 5, 10, 15, 20, 25, 30, 30}},
      {Coordinates::kHalfPixelForNearest, 4, {5, 15, 25, 30}},
  };
  for (const auto& [coordinates, count, expected] : cases) {
    const float scale = static_cast<float>(count) / 4;
    expect_values(evaluate(resize(count, scale, Interpolation::kLinear, coordinates), x), expected);
  }
}

TEST(Resize, DividesInFloat32AsOnnxRuntime) {
  // 3 / 0.6 is 5 in float32; 0.6 in float32 is above 3 / 5.
  Resize op = resize(6, 0.6F, Interpolation::kNearest, Coordinates::kAsymmetric);
  op.rounding = NearestMode::kFloor;
  EXPECT_THAT(elements<float>(evaluate(op, counting({10}))), ElementsAre(0, 1, 3, 5, 6, 8));
}

TEST(Resize, MultipliesInFloat32AsTensorFlowLite) {
  Resize op = resize(49, 49, Interpolation::kNearest, Coordinates::kAsymmetric);
  op.rounding = NearestMode::kFloor;
  op.multiplies = true;
  const ResizeTaps taps = resize_taps(op, 3);
  for (std::size_t i = 0; i < op.count; ++i) {
    const float step = 3.0F / 49.0F;
    EXPECT_EQ(taps.indices[i], static_cast<std::size_t>(static_cast<float>(i) * step)) << i;
  }
}

TEST(Resize, TapsOfEqualPositionsAreTheSame) {
  const Resize by_half = resize(8, 2, Interpolation::kNearest, Coordinates::kHalfPixelForNearest);
  Resize floor = by_half;
  floor.rounding = NearestMode::kFloor;
  Resize half_pixel = resize(8, 2, Interpolation::kNearest, Coordinates::kHalfPixel);
  half_pixel.rounding = NearestMode::kPreferCeil;
  EXPECT_TRUE(same_taps(floor, half_pixel, 4));
  EXPECT_FALSE(same_taps(by_half, half_pixel, 4));
  const Resize linear = resize(7, 7.0F / 3, Interpolation::kLinear, Coordinates::kHalfPixel);
  Resize multiplied = linear;
  multiplied.multiplies = true;
  EXPECT_TRUE(same_taps(linear, multiplied, 3));
  EXPECT_FALSE(same_taps(linear, resize(7, 2, linear.mode, linear.coordinates), 3));
}

TEST(Resize, MatrixHasTheTapsAndTheExtrapolation) {
  Resize op = resize(3, 0.75F, Interpolation::kLinear, Coordinates::kCropAndResize);
  op.begin = 0.5F;
  op.end = 1.5F;
  op.extrapolation = -7;
  const ResizeMatrix found = resize_matrix(op, 4);
  expect_values(found.matrix, {0, 0.5F, 0.5F, 0, 0, 0, 0, 1, 0, 0, 0, 0});
  expect_values(found.rest, {0, 0, -7});
}

TEST(Resize, CropsWithExtrapolation) {
  Resize op = resize(3, 0.75F, Interpolation::kLinear, Coordinates::kCropAndResize);
  op.begin = 0.5F;
  op.end = 1.5F;
  op.extrapolation = -7;
  expect_values(evaluate(op, floats({4}, {0, 10, 20, 30})), {15, 30, -7});
}

TEST(Resize, RoundsToNearestInEveryMode) {
  const Tensor x = counting({4});
  Resize op = resize(8, 2, Interpolation::kNearest, Coordinates::kAsymmetric);
  op.rounding = NearestMode::kPreferFloor;
  EXPECT_THAT(elements<float>(evaluate(op, x)), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  op.rounding = NearestMode::kPreferCeil;
  EXPECT_THAT(elements<float>(evaluate(op, x)), ElementsAre(0, 1, 1, 2, 2, 3, 3, 3));
  op.rounding = NearestMode::kFloor;
  EXPECT_THAT(elements<float>(evaluate(op, x)), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  op.rounding = NearestMode::kCeil;
  EXPECT_THAT(elements<float>(evaluate(op, x)), ElementsAre(0, 1, 1, 2, 2, 3, 3, 3));
  const Tensor codes = test::tensor<std::int8_t>({1, 2}, {3, 4});
  op.axis = 1;
  op.count = 4;
  EXPECT_THAT(elements<std::int8_t>(evaluate(op, codes)), ElementsAre(3, 4, 4, 4));
}

TEST(Resize, CubicWeightsAddUpToOne) {
  for (const bool exclude : {false, true}) {
    for (const bool antialias : {false, true}) {
      Resize op = resize(5, 5.0F / 9, Interpolation::kCubic, Coordinates::kHalfPixel);
      op.exclude_outside = exclude;
      op.antialias = antialias;
      const ResizeTaps taps = resize_taps(op, 9);
      EXPECT_EQ(taps.width, antialias ? 8U : 4U);
      for (std::size_t i = 0; i < op.count; ++i) {
        float sum = 0;
        for (std::size_t t = 0; t < taps.width; ++t) sum += taps.weights[i * taps.width + t];
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
  }
}

TEST(Resize, AntialiasingAverages) {
  Resize op = resize(2, 0.5, Interpolation::kLinear, Coordinates::kHalfPixel);
  op.antialias = true;
  // Triangles of twice the width: weights 1 3 3 1, without elements outside.
  expect_values(evaluate(op, floats({4}, {0, 8, 16, 24})), {5.0F, 19.0F});
}

TEST(Resize, RejectsInvalidOperands) {
  const Resize op = resize(4, 2, Interpolation::kNearest, Coordinates::kAsymmetric);
  expect_error(ErrorKind::kShape, "found the batch", [&] { infer_shape(op, {{kBatch}}); });
  expect_error(ErrorKind::kShape, "has nothing to resample", [&] { infer_shape(op, {{0}}); });
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    expect_error(ErrorKind::kShape, "scale: expected a positive number", [&] {
      infer_shape(resize(4, scale, Interpolation::kNearest, Coordinates::kAsymmetric), {{2}});
    });
  }
  Resize narrow = resize(1, 1e-9F, Interpolation::kLinear, Coordinates::kHalfPixel);
  narrow.antialias = true;
  expect_error(ErrorKind::kShape, "at least 2^-20", [&] { infer_shape(narrow, {{2}}); });
}

TEST(GridSample, ReadsBetweenElements) {
  const Tensor image = counting({1, 2, 2, 1});
  const Tensor grid = floats({1, 1, 3, 2}, {-1, -1, 0, 0, 1, 1});
  GridSample op;
  op.align_corners = true;
  expect_values(evaluate(op, image, grid), {0, 1.5F, 3});
  op.align_corners = false;
  expect_values(evaluate(op, image, grid), {0, 1.5F, 0.75F});
  op.surroundings = Surroundings::kEdge;
  expect_values(evaluate(op, image, grid), {0, 1.5F, 3});
  op.mode = Interpolation::kNearest;
  expect_values(evaluate(op, image, floats({1, 1, 2, 2}, {0.4F, -5, -9, 9})), {1, 2});
}

TEST(GridSample, SurroundingsAreZerosEdgesOrImages) {
  const Tensor image = counting({1, 1, 4, 1});
  const Tensor grid = floats({1, 1, 1, 2}, {1.5F, 0});  // column 4.5 of 4
  GridSample op;
  op.mode = Interpolation::kNearest;
  expect_values(evaluate(op, image, grid), {0});
  op.surroundings = Surroundings::kEdge;
  expect_values(evaluate(op, image, grid), {3});
  op.surroundings = Surroundings::kReflection;
  op.mode = Interpolation::kLinear;
  expect_values(evaluate(op, image, grid), {2.5F});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(evaluate(op, image, floats({1, 1, 2, 2}, {nan, nan, 1e30F, -1e30F})).size(), 2U);
}

TEST(GridSample, CubicEdgesKeepTheWeightsOfThePositionOutside) {
  // The values are those of PyTorch 2.15 and of ONNX Runtime 1.32.
  const Tensor image = floats({1, 2, 3, 1}, {-0.5F, 0.2F, -0.2F, 0.5F, 0.1F, -0.3F});
  const Tensor grid = floats({1, 1, 3, 2}, {-1.2F, -1.1F, 1.15F, 0.3F, 0.2F, 1.3F});
  GridSample op{Interpolation::kCubic, Surroundings::kEdge, false};
  const auto expect_near = [&](const std::vector<float>& expected) {
    const Tensor y = evaluate(op, image, grid);
    // Sums of 16 products of numbers below 1, printed with six digits.
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(y.as<float>()[i], expected[i], 2e-6F);
    }
  };
  expect_near({-0.590701F, -0.298848F, -0.0610102F});
  op.align_corners = true;
  expect_near({-0.604617F, -0.299219F, -0.0255115F});
}

TEST(GridSample, RejectsInvalidOperands) {
  EXPECT_EQ(infer_shape(GridSample{}, {{kBatch, 4, 5, 3}, {kBatch, 6, 7, 2}}),
            (Shape{kBatch, 6, 7, 3}));
  expect_error(ErrorKind::kShape, "does not fit an image", [] {
    infer_shape(GridSample{}, {{1, 4, 5, 3}, {2, 6, 7, 2}});
  });
  expect_error(ErrorKind::kShape, "has nothing to sample", [] {
    infer_shape(GridSample{}, {{1, 0, 5, 3}, {1, 6, 7, 2}});
  });
}

}  // namespace
}  // namespace halftone::ir

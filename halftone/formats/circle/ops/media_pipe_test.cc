// SPDX-License-Identifier: Apache-2.0
// MediaPipe's custom operators; tests/tflite_media_pipe_test.py computes their results in loops.
#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::test::elements;
using testing::ElementsAre;

using Options = std::vector<std::uint8_t>;

/// A custom operator with inputs of the network.
std::vector<std::byte> custom(const std::string& name, const std::vector<Ints>& inputs,
                              const std::vector<Ints>& outputs, const Options& options,
                              std::int32_t version = 1) {
  FileBuilder file;
  std::vector<std::int32_t> given;
  std::vector<std::int32_t> results;
  for (const Ints& shape : inputs) given.push_back(file.tensor({shape}));
  for (const Ints& shape : outputs) results.push_back(file.tensor({shape}));
  file.op(OperatorCode::kCustom, given, results);
  file.ends(given, results);
  file.model().operator_codes[0]->custom_code = name;
  file.model().operator_codes[0]->version = version;
  file.model().subgraphs[0]->operators[0]->custom_options = options;
  return file.bytes();
}

void expect_refused(ErrorKind kind, const char* text, const std::vector<std::byte>& file) {
  expect_error(kind, text, [&] { import_circle(file); });
}

Options pooling(const Ints& fields) {
  const auto bytes = std::as_bytes(std::span(fields));
  Options options;
  for (const std::byte byte : bytes) options.push_back(std::to_integer<std::uint8_t>(byte));
  return options;
}

Options map_of(const std::function<void(flexbuffers::Builder&)>& write) {
  flexbuffers::Builder builder;
  builder.Map([&] { write(builder); });
  builder.Finish();
  return builder.GetBuffer();
}

TEST(MediaPipe, PoolsAndPutsBack) {
  const Options options = pooling({2, 2, 2, 2, 2, 0});
  const auto pooled = run_reference(import_circle(custom("MaxPoolingWithArgmax2D", {{1, 2, 4, 1}},
                                                         {{1, 1, 2, 1}, {1, 1, 2, 1}}, options)),
                                    ir::test::list(floats({1, 2, 4, 1}, {1, 2, 9, 3, 5, 4, 3, 3})));
  EXPECT_THAT(elements<float>(pooled[0]), ElementsAre(5, 9));
  EXPECT_THAT(elements<float>(pooled[1]), ElementsAre(2.1F, 0.1F));
  const auto whole =
      run_reference(import_circle(custom("MaxUnpooling2D", {{1, 1, 2, 1}, {1, 1, 2, 1}},
                                         {{1, 2, 4, 1}}, options)),
                    ir::test::list(pooled[0].clone(), pooled[1].clone()));
  EXPECT_THAT(elements<float>(whole[0]), ElementsAre(0, 0, 9, 0, 5, 0, 0, 0));
}

TEST(MediaPipe, RefusesOptionsOfPooling) {
  const auto file = [](const Ints& fields) {
    return custom("MaxPoolingWithArgmax2D", {{1, 2, 4, 1}}, {{1, 1, 2, 1}, {1, 1, 2, 1}},
                  pooling(fields));
  };
  expect_refused(ErrorKind::kFormat, "has no options", file({2, 2, 2}));
  expect_refused(ErrorKind::kFormat, "unknown padding", file({3, 2, 2, 2, 2, 0}));
  expect_refused(ErrorKind::kFormat, "strides and a window of 1 to 2^16", file({2, 0, 2, 2, 2, 0}));
  expect_refused(ErrorKind::kUnsupported, "an activation of pooling", file({2, 2, 2, 2, 2, 4}));
  expect_refused(ErrorKind::kFormat, "a window exceeds the image", file({2, 2, 2, 2, 3, 0}));
  expect_refused(
      ErrorKind::kFormat, "expected an image [N, h, w, C], found [2, 4]",
      custom("MaxPoolingWithArgmax2D", {{2, 4}}, {{1}, {1}}, pooling({2, 2, 2, 2, 2, 0})));
  expect_refused(ErrorKind::kFormat, "an index for each element",
                 custom("MaxUnpooling2D", {{1, 1, 2, 1}, {1, 1, 1, 1}}, {{1, 2, 4, 1}},
                        pooling({2, 2, 2, 2, 2, 0})));
}

TEST(MediaPipe, MovesLandmarks) {
  const auto options = map_of([](flexbuffers::Builder& map) {
    map.Int("dimensions", 2);
    map.Float("scale", 2);
  });
  const auto y = run_reference(
      import_circle(
          custom("TransformLandmarks", {{1, 1, 1, 4}, {1, 4, 4}}, {{1, 1, 1, 4}}, options)),
      ir::test::list(floats({1, 1, 1, 4}, {1, 2, 3, 4}),
                     floats({1, 4, 4}, {0, 1, 0, 10, -1, 0, 0, 20, 0, 0, 1, 0, 0, 0, 0, 1})));
  EXPECT_THAT(elements<float>(y[0]), ElementsAre(22, 39, 24, 37));
}

TEST(MediaPipe, RefusesOptionsOfLandmarks) {
  const auto file = [](std::int64_t dimensions, float scale) {
    return custom("TransformLandmarks", {{1, 1, 1, 4}, {1, 4, 4}}, {{1, 1, 1, 4}},
                  map_of([&](flexbuffers::Builder& map) {
                    map.Int("dimensions", dimensions);
                    map.Float("scale", scale);
                  }));
  };
  expect_refused(ErrorKind::kFormat, "landmarks of 2 or 3 numbers", file(4, 1));
  expect_refused(ErrorKind::kFormat, "landmarks of 3 numbers, found [1, 1, 1, 4]", file(3, 1));
  expect_refused(ErrorKind::kFormat, "scale: expected a finite number", file(2, 0));
  expect_refused(ErrorKind::kFormat, "expected landmarks [1, n, 2 or 3]",
                 custom("TransformLandmarks", {{1, 1, 1, 4}, {1, 4, 4}}, {{1, 1, 1, 4}}, {}, 2));
  expect_refused(ErrorKind::kFormat, "expected a matrix [4, 4], found [1, 3, 3]",
                 custom("TransformLandmarks", {{1, 2, 2}, {1, 3, 3}}, {{1, 2, 2}}, {}, 2));
}

struct Matrix {
  std::int64_t dimensions = 3;
  std::vector<std::int64_t> subset = {0, 1};
  std::vector<std::int64_t> extents = {8, 8};
  std::int64_t range = 1;
  float multiplier = 1;
  std::int64_t right = 1;
  std::int32_t version = 1;
  float scale = 1;
  float target = 0;
};

std::vector<std::byte> matrix_file(const Matrix& m, const Ints& output = {1, 4, 4}) {
  const auto options = map_of([&](flexbuffers::Builder& map) {
    const auto list = [&](const char* key, const std::vector<std::int64_t>& numbers) {
      map.TypedVector(key, [&] {
        for (const std::int64_t number : numbers) map.Int(number);
      });
    };
    map.Int("dimensions", m.dimensions);
    list("subset", m.subset);
    list("subset_idxs", m.subset);
    list("output_hw", m.extents);
    list("input_hw", m.extents);
    map.Int("landmarks_range", m.range);
    map.Float("bbox_size_multiplier", m.multiplier);
    map.Int("left_rotation_idx", 0);
    map.Int("right_rotation_idx", m.right);
    map.Int("output_height", m.extents[0]);
    map.Int("output_width", m.extents[1]);
    map.Float("target_rotation_radians", m.target);
    map.Float("scale_x", m.scale);
    map.Float("scale_y", m.scale);
  });
  return custom("Landmarks2TransformMatrix", {{1, 2, 3}}, {output}, options, m.version);
}

TEST(MediaPipe, SurroundsLandmarks) {
  Matrix m;
  m.version = 2;
  const auto y = run_reference(import_circle(matrix_file(m)),
                               ir::test::list(floats({1, 2, 3}, {2, 5, 0, 18, 5, 0})));
  // A box of 16 x 0 around (10, 5), cut to 8 x 8.
  EXPECT_THAT(elements<float>(y[0]), ElementsAre(2, 0, 0, 2, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 1));
}

TEST(MediaPipe, RefusesOptionsOfMatrices) {
  const auto expect_matrix = [](ErrorKind kind, const char* text, void (*edit)(Matrix&)) {
    Matrix m;
    edit(m);
    expect_refused(kind, text, matrix_file(m));
  };
  expect_matrix(ErrorKind::kFormat, "dimensions: expected 3", [](Matrix& m) { m.dimensions = 2; });
  expect_matrix(ErrorKind::kFormat, "landmarks to surround", [](Matrix& m) { m.subset = {}; });
  expect_matrix(ErrorKind::kFormat, "an index of landmarks: expected one below 2",
                [](Matrix& m) { m.subset = {2}; });
  expect_matrix(ErrorKind::kFormat, "an index of landmarks", [](Matrix& m) { m.right = -1; });
  expect_matrix(ErrorKind::kFormat, "a height and a width of 1 to 2^14", [](Matrix& m) {
    m.extents = {8, 0};
  });
  expect_matrix(ErrorKind::kFormat, "output_hw: expected at least 2", [](Matrix& m) {
    m.extents = {8, 1};
  });
  expect_matrix(ErrorKind::kFormat, "landmarks_range: expected", [](Matrix& m) { m.range = 0; });
  expect_matrix(ErrorKind::kFormat, "bbox_size_multiplier: expected",
                [](Matrix& m) { m.multiplier = NAN; });
  expect_matrix(ErrorKind::kUnsupported, "version 3: expected 1 or 2",
                [](Matrix& m) { m.version = 3; });
  expect_matrix(ErrorKind::kFormat, "scales above zero", [](Matrix& m) {
    m.version = 2;
    m.scale = 0;
  });
  expect_matrix(ErrorKind::kFormat, "a finite rotation", [](Matrix& m) {
    m.version = 2;
    m.target = INFINITY;
  });
  expect_refused(ErrorKind::kFormat, "expected a matrix [4, 4] as the output",
                 matrix_file({}, {1, 3, 3}));
}

TEST(MediaPipe, RefusesOptionsOfParts) {
  const auto file = [](const char* mode, const std::vector<std::int64_t>& extents,
                       const Ints& image = {1, 2, 2, 1}) {
    return custom("TransformTensor", {image, {1, 4, 4}}, {{1, 2, 2, 1}},
                  map_of([&](flexbuffers::Builder& map) {
                    map.String("mode", mode);
                    map.Vector("output_size", [&] {
                      for (const std::int64_t extent : extents) map.Int(extent);
                    });
                  }));
  };
  expect_refused(ErrorKind::kUnsupported, "expected mode bilinear", file("nearest", {2, 2}));
  expect_refused(ErrorKind::kFormat, "a height and a width", file("bilinear", {2}));
  expect_refused(ErrorKind::kFormat, "expected an image [1, h, w, C], found [2, 2, 2, 1]",
                 file("bilinear", {2, 2}, {2, 2, 2, 1}));
  const auto map = map_of([](flexbuffers::Builder& m) { m.Int("output_size", 2); });
  expect_refused(ErrorKind::kFormat, "output_size: expected a list",
                 custom("TransformTensor", {{1, 2, 2, 1}, {1, 4, 4}}, {{1, 2, 2, 1}}, map));
}

}  // namespace
}  // namespace halftone::formats::circle

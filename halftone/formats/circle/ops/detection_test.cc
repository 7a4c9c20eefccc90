// SPDX-License-Identifier: Apache-2.0
// The custom operator behind detectors; tests/tflite_selection_test.py compares it with LiteRT.
#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::test::elements;
using schema::TensorType;
using testing::ElementsAre;

DetectionFields two_detections() {
  DetectionFields fields;
  fields.max_detections = 2;
  fields.max_classes_per_detection = 1;
  fields.num_classes = 1;
  fields.nms_iou_threshold = 0.5F;
  fields.nms_score_threshold = 0.25F;
  fields.y_scale = fields.x_scale = 10;
  fields.h_scale = fields.w_scale = 5;
  return fields;
}

std::vector<std::uint8_t> options_of(const DetectionFields& fields) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("max_detections", fields.max_detections);
    builder.Int("max_classes_per_detection", fields.max_classes_per_detection);
    builder.Int("detections_per_class", fields.detections_per_class);
    builder.Bool("use_regular_nms", fields.use_regular_nms);
    builder.Int("num_classes", fields.num_classes);
    builder.Float("nms_score_threshold", fields.nms_score_threshold);
    builder.Float("nms_iou_threshold", fields.nms_iou_threshold);
    builder.Float("y_scale", fields.y_scale);
    builder.Float("x_scale", fields.x_scale);
    builder.Float("h_scale", fields.h_scale);
    builder.Float("w_scale", fields.w_scale);
  });
  builder.Finish();
  return builder.GetBuffer();
}

/// Three anchors of 2 x 2: two that overlap by a third, and one apart.
std::vector<std::byte> detector(const std::vector<std::uint8_t>& options, std::int32_t classes = 2,
                                std::int32_t outputs = 4) {
  FileBuilder file;
  const auto boxes = file.tensor({{1, 3, 4}});
  const auto scores = file.tensor({{1, 3, classes}});
  const auto anchors = file.tensor(
      constant_tensor<float>({3, 4}, TensorType::FLOAT32, {1, 1, 2, 2, 1, 2, 2, 2, 8, 8, 2, 2}));
  std::vector<std::int32_t> results = {file.tensor({{1, 2, 4}}), file.tensor({{1, 2}}),
                                       file.tensor({{1, 2}}), file.tensor({{1}})};
  results.resize(static_cast<std::size_t>(outputs));
  file.op(OperatorCode::kCustom, {boxes, scores, anchors}, results);
  file.ends({boxes, scores}, results);
  file.model().operator_codes[0]->custom_code = kDetectionName;
  file.model().subgraphs[0]->operators[0]->custom_options = options;
  return file.bytes();
}

TEST(Detector, FindsTheBestBoxesOfAllThatOverlap) {
  DetectionFields fields = two_detections();
  fields.nms_iou_threshold = 0.3F;
  for (const bool is_regular : {false, true}) {
    fields.use_regular_nms = is_regular;
    const ir::Graph graph = import_circle(detector(options_of(fields)));
    // The first column is the background. 5 / 10 of a size of 2 moves the last box down by 1.
    const auto outputs =
        run_reference(graph, ir::test::list(floats({1, 3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}),
                                            floats({1, 3, 2}, {1, 0.5F, 1, 0.75F, 1, 0.25F})));
    EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(0, 1, 2, 3, 8, 7, 10, 9));
    EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(0, 0));
    EXPECT_THAT(elements<float>(outputs[2]), ElementsAre(0.75F, 0.25F));
    EXPECT_THAT(elements<float>(outputs[3]), ElementsAre(2));
  }
}

TEST(Detector, RefusesOptionsOutOfRange) {
  const auto expect_refused = [](const char* text, void (*edit)(DetectionFields&)) {
    DetectionFields fields = two_detections();
    edit(fields);
    expect_error(ErrorKind::kFormat, text, [&] { import_circle(detector(options_of(fields))); });
  };
  expect_refused("1 to 2^20 detections", [](DetectionFields& f) { f.max_detections = 0; });
  expect_refused("1 to 2^20 detections", [](DetectionFields& f) { f.detections_per_class = -1; });
  expect_refused("1 to 2^20 detections",
                 [](DetectionFields& f) { f.max_detections = f.max_classes_per_detection = 1025; });
  expect_refused("nms_iou_threshold: expected",
                 [](DetectionFields& f) { f.nms_iou_threshold = 0; });
  expect_refused("nms_score_threshold: expected",
                 [](DetectionFields& f) { f.nms_score_threshold = NAN; });
  expect_refused("scales above zero", [](DetectionFields& f) { f.h_scale = 0; });
  expect_refused("num_classes: expected the classes of scores [1, 3, 2] or one less, found 3",
                 [](DetectionFields& f) { f.num_classes = 3; });
}

TEST(Detector, RefusesOtherInputs) {
  const auto options = options_of(two_detections());
  expect_error(ErrorKind::kFormat, "expected 4 outputs",
               [&] { import_circle(detector(options, 2, 3)); });
  expect_error(ErrorKind::kFormat, "options: expected a map", [] {
    import_circle(detector(std::vector<std::uint8_t>{1, 4, 1}));
  });
  schema::ModelT model = unpacked(detector(options));
  model.subgraphs[0]->tensors[0]->shape = {1, 3, 3};
  expect_error(ErrorKind::kFormat, "found [1, 3, 3], [1, 3, 2] and [3, 4]",
               [&] { import_circle(packed(model)); });
}

}  // namespace
}  // namespace halftone::formats::circle

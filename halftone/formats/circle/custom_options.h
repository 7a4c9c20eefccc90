// SPDX-License-Identifier: Apache-2.0
// Custom operators, ours for layers in a basis and those of others: their names, and their fields
// as options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/formats/conv_layer.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/recurrent_layer.h"

namespace halftone::formats::circle {

/// The custom_code of a FullyConnected in a basis; low_bit_layer.h defines the operator.
inline constexpr std::string_view kCustomName = "HalftoneFullyConnected";

/// Writes the fields as a FlexBuffers map from field names to values, plus "version".
std::vector<std::byte> write_custom_options(const LowBitFields& fields);

/// @throws Error kFormat if the bytes are not such a map or a value is out of range; kUnsupported
///         for another version
LowBitFields read_custom_options(std::span<const std::byte> bytes);

/// The custom_code of a Gather from an encoded table, which has the same options.
inline constexpr std::string_view kCustomGatherName = "HalftoneGather";

/// The custom_code of a recurrent layer; recurrent_layer.h defines the operator.
inline constexpr std::string_view kCustomRecurrentName = "HalftoneRecurrent";

std::vector<std::byte> write_recurrent_options(const RecurrentFields& fields);
/// @throws Error as read_custom_options()
RecurrentFields read_recurrent_options(std::span<const std::byte> bytes);

/// The custom_code of a FakeQuantize; conv_layer.h defines the operator.
inline constexpr std::string_view kCustomFakeQuantizeName = "HalftoneFakeQuantize";

std::vector<std::byte> write_fake_quantize_options(const FakeQuantizeFields& fields);
/// @throws Error as read_custom_options()
FakeQuantizeFields read_fake_quantize_options(std::span<const std::byte> bytes);

/// The custom_code of a convolution in a basis; conv_layer.h defines the operator.
inline constexpr std::string_view kCustomConvName = "HalftoneConv";
std::vector<std::byte> write_conv_options(const ConvFields& fields);
/// @throws Error as read_custom_options()
ConvFields read_conv_options(std::span<const std::byte> bytes);

/// TFLite's custom operator behind detectors of boxes.
inline constexpr std::string_view kDetectionName = "TFLite_Detection_PostProcess";

/// Its options.
struct DetectionFields {
  std::int64_t max_detections = 0;
  std::int64_t max_classes_per_detection = 0;  ///< without use_regular_nms
  std::int64_t detections_per_class = 100;     ///< with use_regular_nms
  bool use_regular_nms = false;                ///< class by class, else by the best of each box
  std::int64_t num_classes = 0;                ///< without the background
  float nms_score_threshold = 0;
  float nms_iou_threshold = 0;
  float y_scale = 0;
  float x_scale = 0;
  float h_scale = 0;
  float w_scale = 0;
};
/// @throws Error kFormat if the bytes are no map with these entries, or one is out of range
DetectionFields read_detection_options(std::span<const std::byte> bytes);

/// The options of MediaPipe's Landmarks2TransformMatrix.
struct LandmarkMatrixFields {
  std::int32_t version = 1;
  std::vector<std::int64_t> subset;  ///< the landmarks to surround
  std::int64_t left_rotation_idx = 0;
  std::int64_t right_rotation_idx = 0;
  std::vector<std::int64_t> output_hw;  ///< the extents of the part to cut
  std::vector<std::int64_t> input_hw;   ///< version 1: those of the image
  std::int64_t landmarks_range = 1;     ///< version 1
  float bbox_size_multiplier = 1;       ///< version 1
  float target_rotation_radians = 0;    ///< version 2, as are the next two
  float scale_x = 1;
  float scale_y = 1;
};
/// @throws Error kFormat if the bytes are no map with these entries, or one is out of range;
///         kUnsupported for another version
LandmarkMatrixFields read_landmark_matrix_options(std::span<const std::byte> bytes,
                                                  std::int32_t version);

/// The options of MediaPipe's TransformLandmarks.
struct LandmarkTransformFields {
  std::int64_t dimensions = 3;
  float scale = 1;
};
/// @throws Error kFormat as read_landmark_matrix_options()
LandmarkTransformFields read_landmark_transform_options(std::span<const std::byte> bytes);

/// The options of MediaPipe's TransformTensor and TransformTensorBilinear: the extents to cut.
struct TensorTransformFields {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
/// @throws Error as read_landmark_matrix_options()
TensorTransformFields read_tensor_transform_options(std::span<const std::byte> bytes,
                                                    std::int32_t version);

/// The custom_code of a whole network (see one_operator.h). It reads the inputs of the network,
/// then its states in the order in which the file of the network reads them; it computes the
/// outputs, then the next states in the same order. Its options are the bytes of that file.
inline constexpr std::string_view kNetworkName = "HalftoneNetwork";

}  // namespace halftone::formats::circle

// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/custom_options.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/formats/circle/check.h"

namespace halftone::formats::circle {
namespace {

constexpr const char* kVersionKey = "version";
constexpr std::size_t kMaxBytes = 4096;

/// Reads a field from the entry with its name.
class FieldReader {
 public:
  explicit FieldReader(const flexbuffers::Map& map) : map_(map) {}

  void operator()(const char* key, std::int64_t& value) const {
    const flexbuffers::Reference entry = map_[key];
    check(entry.IsInt() || entry.IsUInt(), std::string(key) + ": expected an integer");
    value = entry.AsInt64();
  }
  void operator()(const char* key, bool& value) const {
    const flexbuffers::Reference entry = map_[key];
    check(entry.IsBool(), std::string(key) + ": expected true or false");
    value = entry.AsBool();
  }
  void operator()(const char* key, float& value) const {
    const flexbuffers::Reference entry = map_[key];
    check(entry.IsNumeric(), std::string(key) + ": expected a number");
    value = entry.AsFloat();
  }
  void operator()(const char* key, std::string& value) const {
    const flexbuffers::Reference entry = map_[key];
    check(entry.IsString(), std::string(key) + ": expected a string");
    value = entry.AsString().str();
  }
  void operator()(const char* key, std::vector<std::int64_t>& value) const {
    const flexbuffers::Reference entry = map_[key];
    check(entry.IsUntypedVector(), std::string(key) + ": expected a list");
    const flexbuffers::Vector list = entry.AsVector();
    for (std::size_t i = 0; i < list.size(); ++i) {
      check(list[i].IsInt() || list[i].IsUInt(), std::string(key) + ": expected integers");
      value.push_back(list[i].AsInt64());
    }
  }
  void operator()(const char* key, numerics::Granularity& value) const {
    const flexbuffers::Reference entry = map_[key];
    value = granularity_of(entry.IsString() ? entry.AsString().str() : "");
  }
  // These keep the default if there is no entry.
  void operator()(const char* key, OptionalText& value) const {
    const flexbuffers::Reference entry = map_[key];
    if (entry.IsNull()) return;
    check(entry.IsString(), std::string(key) + ": expected a string");
    value.text = entry.AsString().str();
  }
  void operator()(const char* key, OptionalCount& value) const {
    const flexbuffers::Reference entry = map_[key];
    if (entry.IsNull()) return;
    check(entry.IsInt() || entry.IsUInt(), std::string(key) + ": expected an integer");
    value.number = entry.AsInt64();
  }
  void operator()(const char* key, OptionalNumber& value) const {
    const flexbuffers::Reference entry = map_[key];
    if (entry.IsNull()) return;
    check(entry.IsNumeric(), std::string(key) + ": expected a number");
    value.number = entry.AsFloat();
  }
  void operator()(const char* key, ir::Arithmetic& value) const {
    const flexbuffers::Reference entry = map_[key];
    if (!entry.IsNull()) value = arithmetic_of_name(entry.IsString() ? entry.AsString().str() : "");
  }

 private:
  const flexbuffers::Map& map_;
};

/// Writes a field under its name.
class FieldWriter {
 public:
  explicit FieldWriter(flexbuffers::Builder& builder) : builder_(builder) {}

  void operator()(const char* key, std::int64_t value) { builder_.Int(key, value); }
  void operator()(const char* key, bool value) { builder_.Bool(key, value); }
  void operator()(const char* key, float value) { builder_.Float(key, value); }
  void operator()(const char* key, const std::string& value) { builder_.String(key, value); }
  void operator()(const char* key, const std::vector<std::int64_t>& value) {
    builder_.Vector(key, [&] {
      for (const std::int64_t number : value) builder_.Int(number);
    });
  }
  void operator()(const char* key, numerics::Granularity value) {
    builder_.String(key, std::string(to_string(value)));
  }
  void operator()(const char* key, const OptionalText& value) {
    if (!value.text.empty()) builder_.String(key, value.text);
  }
  void operator()(const char* key, const OptionalCount& value) {
    if (value != OptionalCount{}) builder_.Int(key, value.number);
  }
  void operator()(const char* key, const OptionalNumber& value) {
    if (value != OptionalNumber{}) builder_.Float(key, value.number);
  }
  void operator()(const char* key, ir::Arithmetic value) {
    if (value != ir::Arithmetic::kAuto) builder_.String(key, std::string(to_string(value)));
  }

 private:
  flexbuffers::Builder& builder_;
};

/// Calls read(map) with the map that the bytes hold.
template <typename Read>
void with_map(std::span<const std::byte> bytes, Read&& read) {
  check(!bytes.empty() && bytes.size() <= kMaxBytes,
        "expected at most " + std::to_string(kMaxBytes) + " bytes, found " +
            std::to_string(bytes.size()));
  AlignedBuffer aligned(bytes.size());
  std::ranges::copy(bytes, aligned.data());
  const auto* data = reinterpret_cast<const std::uint8_t*>(aligned.data());
  std::vector<std::uint8_t> reuse_tracker;
  check(flexbuffers::VerifyBuffer(data, bytes.size(), &reuse_tracker), "expected FlexBuffers");
  const flexbuffers::Reference root = flexbuffers::GetRoot(data, bytes.size());
  check(root.IsMap(), "expected a map");
  read(root.AsMap());
}

/// Calls read_fields(reader) with a FieldReader for the map of one of our operators.
template <typename Read>
void read_map(std::span<const std::byte> bytes, Read&& read_fields) {
  with_map(bytes, [&](const flexbuffers::Map& map) {
    const FieldReader read(map);
    std::int64_t version = 0;
    read(kVersionKey, version);
    check_low_bit_version(version);
    read_fields(read);
  });
}

/// The integers of a list, whose elements may have types of their own or one type.
std::vector<std::int64_t> read_list(const flexbuffers::Map& map, const char* key) {
  const flexbuffers::Reference entry = map[key];
  std::vector<std::int64_t> values;
  const auto append = [&](const auto& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      check(list[i].IsIntOrUint(), std::string(key) + ": expected integers");
      values.push_back(list[i].AsInt64());
    }
  };
  if (entry.IsFixedTypedVector()) {
    append(entry.AsFixedTypedVector());
  } else if (entry.IsTypedVector()) {
    append(entry.AsTypedVector());
  } else {
    check(entry.IsUntypedVector(), std::string(key) + ": expected a list");
    append(entry.AsVector());
  }
  return values;
}

void check_extents(const std::vector<std::int64_t>& extents) {
  constexpr std::int64_t kMax = std::int64_t{1} << 14;
  const auto fits = [](std::int64_t extent) { return extent >= 1 && extent <= kMax; };
  check(extents.size() == 2 && std::ranges::all_of(extents, fits),
        "expected a height and a width of 1 to 2^14");
}

LandmarkMatrixFields first_landmark_matrix(const flexbuffers::Map& map) {
  const FieldReader read(map);
  LandmarkMatrixFields fields;
  std::int64_t dimensions = 0;
  read("dimensions", dimensions);
  check(dimensions == 3, "dimensions: expected 3");
  fields.subset = read_list(map, "subset");
  fields.output_hw = read_list(map, "output_hw");
  fields.input_hw = read_list(map, "input_hw");
  check_extents(fields.input_hw);
  read("landmarks_range", fields.landmarks_range);
  read("bbox_size_multiplier", fields.bbox_size_multiplier);
  check(fields.landmarks_range > 0, "landmarks_range: expected a number above zero");
  check(std::isfinite(fields.bbox_size_multiplier) && fields.bbox_size_multiplier != 0,
        "bbox_size_multiplier: expected a finite number that is not zero");
  return fields;
}

LandmarkMatrixFields second_landmark_matrix(const flexbuffers::Map& map) {
  const FieldReader read(map);
  LandmarkMatrixFields fields;
  fields.subset = read_list(map, "subset_idxs");
  fields.output_hw.resize(2);
  read("output_height", fields.output_hw[0]);
  read("output_width", fields.output_hw[1]);
  read("target_rotation_radians", fields.target_rotation_radians);
  read("scale_x", fields.scale_x);
  read("scale_y", fields.scale_y);
  for (const float scale : {fields.scale_x, fields.scale_y}) {
    check(std::isfinite(scale) && scale > 0, "expected scales above zero");
  }
  check(std::isfinite(fields.target_rotation_radians), "expected a finite rotation");
  return fields;
}

void check_media_pipe_version(std::int32_t version) {
  if (version == 1 || version == 2) return;
  fail(ErrorKind::kUnsupported, "version " + std::to_string(version) + ": expected 1 or 2");
}

/// Calls visit(key, value, is_optional) for each of the fields.
template <typename Visit>
void for_each_detection_field(DetectionFields& fields, const Visit& visit) {
  visit("max_detections", fields.max_detections, false);
  visit("max_classes_per_detection", fields.max_classes_per_detection, false);
  visit("detections_per_class", fields.detections_per_class, true);
  visit("use_regular_nms", fields.use_regular_nms, true);
  visit("num_classes", fields.num_classes, false);
  visit("nms_score_threshold", fields.nms_score_threshold, false);
  visit("nms_iou_threshold", fields.nms_iou_threshold, false);
  visit("y_scale", fields.y_scale, false);
  visit("x_scale", fields.x_scale, false);
  visit("h_scale", fields.h_scale, false);
  visit("w_scale", fields.w_scale, false);
}

void check_detection(const DetectionFields& fields) {
  constexpr std::int64_t kMax = std::int64_t{1} << 20;
  const auto is_count = [](std::int64_t count) { return count > 0 && count <= kMax; };
  check(is_count(fields.max_detections) && is_count(fields.max_classes_per_detection) &&
            is_count(fields.detections_per_class) &&
            is_count(fields.max_detections * fields.max_classes_per_detection),
        "expected 1 to 2^20 detections");
  check(fields.nms_iou_threshold > 0 && fields.nms_iou_threshold <= 1,
        "nms_iou_threshold: expected more than 0 and at most 1");
  check(std::isfinite(fields.nms_score_threshold), "nms_score_threshold: expected a finite number");
  for (const float scale : {fields.y_scale, fields.x_scale, fields.h_scale, fields.w_scale}) {
    check(std::isfinite(scale) && scale > 0, "expected scales above zero");
  }
}

template <typename Write>
std::vector<std::byte> write_map(Write&& write_fields) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    FieldWriter write(builder);
    write(kVersionKey, kLowBitVersion);
    write_fields(write);
  });
  builder.Finish();
  const auto bytes = std::as_bytes(std::span(builder.GetBuffer()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> write_custom_options(const LowBitFields& fields) {
  return write_map([&](FieldWriter& write) { for_each_field(fields, write); });
}

LowBitFields read_custom_options(std::span<const std::byte> bytes) {
  LowBitFields fields;
  with_context("options", [&] {
    read_map(bytes, [&](const FieldReader& read) { for_each_field(fields, read); });
    fields.check();
  });
  return fields;
}

std::vector<std::byte> write_recurrent_options(const RecurrentFields& fields) {
  return write_map([&](FieldWriter& write) { for_each_recurrent_field(fields, write); });
}

RecurrentFields read_recurrent_options(std::span<const std::byte> bytes) {
  RecurrentFields fields;
  with_context("options", [&] {
    read_map(bytes, [&](const FieldReader& read) { for_each_recurrent_field(fields, read); });
    fields.codes.check();
  });
  return fields;
}

std::vector<std::byte> write_fake_quantize_options(const FakeQuantizeFields& fields) {
  return write_map([&](FieldWriter& write) { for_each_fake_quantize_field(fields, write); });
}

FakeQuantizeFields read_fake_quantize_options(std::span<const std::byte> bytes) {
  FakeQuantizeFields fields;
  with_context("options", [&] {
    read_map(bytes, [&](const FieldReader& read) { for_each_fake_quantize_field(fields, read); });
  });
  return fields;
}

std::vector<std::byte> write_conv_options(const ConvFields& fields) {
  return write_map([&](FieldWriter& write) { for_each_conv_field(fields, write); });
}

ConvFields read_conv_options(std::span<const std::byte> bytes) {
  ConvFields fields;
  with_context("options", [&] {
    read_map(bytes, [&](const FieldReader& read) { for_each_conv_field(fields, read); });
    fields.codes.check();
  });
  return fields;
}

DetectionFields read_detection_options(std::span<const std::byte> bytes) {
  DetectionFields fields;
  with_context("options", [&] {
    with_map(bytes, [&](const flexbuffers::Map& map) {
      const FieldReader read(map);
      for_each_detection_field(fields, [&](const char* key, auto& value, bool is_optional) {
        if (is_optional && map[key].IsNull()) return;
        read(key, value);
      });
    });
    check_detection(fields);
  });
  return fields;
}

LandmarkMatrixFields read_landmark_matrix_options(std::span<const std::byte> bytes,
                                                  std::int32_t version) {
  check_media_pipe_version(version);
  LandmarkMatrixFields fields;
  with_context("options", [&] {
    with_map(bytes, [&](const flexbuffers::Map& map) {
      fields = version == 1 ? first_landmark_matrix(map) : second_landmark_matrix(map);
      const FieldReader read(map);
      read("left_rotation_idx", fields.left_rotation_idx);
      read("right_rotation_idx", fields.right_rotation_idx);
    });
    fields.version = version;
    check_extents(fields.output_hw);
    check(version == 2 || (fields.output_hw[0] > 1 && fields.output_hw[1] > 1),
          "output_hw: expected at least 2");
    check(!fields.subset.empty(), "expected landmarks to surround");
  });
  return fields;
}

LandmarkTransformFields read_landmark_transform_options(std::span<const std::byte> bytes) {
  LandmarkTransformFields fields;
  with_context("options", [&] {
    with_map(bytes, [&](const flexbuffers::Map& map) {
      const FieldReader read(map);
      if (!map["dimensions"].IsNull()) read("dimensions", fields.dimensions);
      if (!map["scale"].IsNull()) read("scale", fields.scale);
    });
    check(std::isfinite(fields.scale) && fields.scale != 0,
          "scale: expected a finite number that is not zero");
  });
  return fields;
}

TensorTransformFields read_tensor_transform_options(std::span<const std::byte> bytes,
                                                    std::int32_t version) {
  check_media_pipe_version(version);
  std::vector<std::int64_t> extents(2);
  with_context("options", [&] {
    with_map(bytes, [&](const flexbuffers::Map& map) {
      const FieldReader read(map);
      if (version == 2) {
        read("output_height", extents[0]);
        read("output_width", extents[1]);
        return;
      }
      if (!map["mode"].IsNull() && map["mode"].AsString().str() != "bilinear") {
        fail(ErrorKind::kUnsupported, "expected mode bilinear");
      }
      extents = read_list(map, "output_size");
    });
    check_extents(extents);
  });
  return {extents[0], extents[1]};
}

}  // namespace halftone::formats::circle

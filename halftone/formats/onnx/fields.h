// SPDX-License-Identifier: Apache-2.0
// Fields of our own operators as node attributes, for for_each_field() and
// for_each_recurrent_field().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// Writes a field to the attribute of its name.
class FieldWriter {
 public:
  explicit FieldWriter(onnx_pb::NodeProto& node) : node_(node) {}

  void operator()(const char* name, std::int64_t value) { set_attribute(node_, name, value); }
  void operator()(const char* name, bool value) {
    set_attribute(node_, name, std::int64_t{value ? 1 : 0});
  }
  void operator()(const char* name, float value) { set_attribute(node_, name, value); }
  void operator()(const char* name, const std::string& value) {
    set_attribute(node_, name, std::string_view(value));
  }
  void operator()(const char* name, numerics::Granularity value) {
    set_attribute(node_, name, to_string(value));
  }
  void operator()(const char* name, const OptionalText& value) {
    if (!value.text.empty()) set_attribute(node_, name, std::string_view(value.text));
  }
  void operator()(const char* name, const OptionalCount& value) {
    if (value != OptionalCount{}) set_attribute(node_, name, value.number);
  }
  void operator()(const char* name, const OptionalNumber& value) {
    if (value != OptionalNumber{}) set_attribute(node_, name, value.number);
  }
  void operator()(const char* name, ir::Arithmetic value) {
    if (value != ir::Arithmetic::kAuto) set_attribute(node_, name, to_string(value));
  }

 private:
  onnx_pb::NodeProto& node_;
};

/// Reads a field from the attribute of its name; keeps the default if there is none.
class FieldReader {
 public:
  explicit FieldReader(const NodeBuilder& node) : node_(node) {}

  void operator()(const char* name, std::int64_t& value) const {
    value = node_.int_attribute(name, value);
  }
  void operator()(const char* name, bool& value) const {
    value = node_.int_attribute(name, value ? 1 : 0) != 0;
  }
  void operator()(const char* name, float& value) const {
    value = node_.float_attribute(name, value);
  }
  void operator()(const char* name, std::string& value) const {
    value = node_.string_attribute(name, value);
  }
  void operator()(const char* name, OptionalText& value) const {
    value.text = node_.string_attribute(name, value.text);
  }
  void operator()(const char* name, OptionalCount& value) const {
    value.number = node_.int_attribute(name, value.number);
  }
  void operator()(const char* name, OptionalNumber& value) const {
    value.number = node_.float_attribute(name, value.number);
  }
  void operator()(const char* name, numerics::Granularity& value) const {
    value = granularity_of(node_.string_attribute(name, std::string(to_string(value))));
  }
  void operator()(const char* name, ir::Arithmetic& value) const {
    value = arithmetic_of_name(node_.string_attribute(name, std::string(to_string(value))));
  }

 private:
  const NodeBuilder& node_;
};

}  // namespace halftone::formats::onnx

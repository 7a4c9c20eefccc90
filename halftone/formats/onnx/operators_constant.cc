// SPDX-License-Identifier: Apache-2.0
// Numbers that the file holds or describes.
#include <algorithm>
#include <cstring>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

template <typename T>
ir::Tensor vector_of(const std::vector<T>& values) {
  return ir::Tensor::from<T>({static_cast<ir::Dim>(values.size())}, std::span(values));
}

/// What the attributes other than `value` hold.
ir::Tensor short_constant(NodeBuilder& node) {
  if (node.has_attribute("value_float")) {
    const float value = node.float_attribute("value_float", 0);
    return ir::Tensor::from<float>({}, std::span(&value, 1));
  }
  if (node.has_attribute("value_int")) {
    const std::int64_t value = node.int_attribute("value_int", 0);
    return ir::Tensor::from<std::int64_t>({}, std::span(&value, 1));
  }
  if (const auto values = node.floats_attribute("value_floats")) return vector_of(*values);
  if (const auto values = node.ints_attribute("value_ints")) return vector_of(*values);
  NodeBuilder::unsupported("a constant that is no dense tensor of numbers");
}

}  // namespace

void build_constant(NodeBuilder& node) {
  if (const auto* proto = node.proto_attribute("value")) {
    node.set_output(0, node.state().add_constant("", *proto));
  } else {
    node.set_output(0, node.add_constant(short_constant(node)));
  }
}

void build_constant_of_shape(NodeBuilder& node) {
  const std::vector<std::int64_t> dims = node.numbers_input(0);
  if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; })) {
    fail(ErrorKind::kShape, "expected extents >= 0, found " + ir::Shape(dims).to_string());
  }
  auto value = node.tensor_attribute("value");
  if (!value) value = ir::Tensor(ir::ElementType::kFloat32, {1});
  if (value->size() != 1) {
    fail(ErrorKind::kFormat, "value: expected one number, found " + std::to_string(value->size()));
  }
  ir::Tensor filled = node.allocate(value->element(), ir::Shape(dims));
  const auto source = value->bytes();
  for (std::size_t i = 0; i < filled.size(); ++i) {
    std::memcpy(filled.bytes().data() + i * source.size(), source.data(), source.size());
  }
  node.set_output(0, node.add_constant(std::move(filled)));
}

void build_shape_arithmetic(NodeBuilder& /*node*/) {
  NodeBuilder::unsupported("its inputs are not known during the import");
}

}  // namespace halftone::formats::onnx

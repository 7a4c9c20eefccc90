// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/function.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/subgraph.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::AttributeProto;
using onnx_pb::NodeProto;

std::string name_of_input(std::size_t i) { return "in" + std::to_string(i); }

}  // namespace

NodeProto& with_int(NodeProto& proto, const char* name, std::int64_t value) {
  set_attribute(proto, name, value);
  return proto;
}

void refuse_inputs(NodeBuilder& node, std::size_t first, const std::string& what) {
  for (std::size_t i = first; i < node.num_inputs(); ++i) {
    if (node.has_input(i)) NodeBuilder::unsupported(what);
  }
}

void refuse_attributes(NodeBuilder& node, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (node.int_attribute(name, 0) > 0) NodeBuilder::unsupported(name);
  }
}

ir::Shape shape_of(NodeBuilder& node, std::size_t i, std::size_t rank) {
  ir::Shape shape = node.input_type(i).shape;
  if (shape.rank() == rank) return shape;
  fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected " + std::to_string(rank) +
                              " axes, found " + shape.to_string());
}

ir::Tensor zero_codes(NodeBuilder& node, std::size_t i, const ir::Shape& shape, int bits) {
  if (node.has_input(i)) {
    ir::Tensor codes = unpacked_codes(node.constant_input(i), bits, shape.back());
    if (codes.shape() == shape) return codes;
    fail(ErrorKind::kShape,
         "zero points: expected " + shape.to_string() + ", found " + codes.shape().to_string());
  }
  ir::Tensor middle = node.allocate(ir::ElementType::kUint8, shape);
  std::ranges::fill(middle.as<std::uint8_t>(), static_cast<std::uint8_t>(1 << (bits - 1)));
  return middle;
}

Function::Function(NodeBuilder& node, std::int64_t opset) : node_(node), call_(node.proto()) {
  for (std::size_t i = 0; i < node.num_inputs(); ++i) function_.add_input(name_of_input(i));
  function_.add_output("y");
  set_opset(opset);
}

void Function::set_opset(std::int64_t version) {
  function_.clear_opset_import();
  function_.add_opset_import()->set_version(version);
}

std::string Function::in(std::size_t i) const { return node_.has_input(i) ? name_of_input(i) : ""; }

NodeProto& Function::add(const std::string& op_type, const Names& inputs,
                         const std::string& output) {
  NodeProto& proto = *function_.add_node();
  proto.set_op_type(op_type);
  proto.set_name(output == "y" ? op_type : output);
  for (const std::string& input : inputs) proto.add_input(input);
  proto.add_output(output);
  return proto;
}

NodeProto& Function::add_with_attributes(const std::string& op_type, const Names& inputs,
                                         const std::string& output, const Names& but_for) {
  NodeProto& proto = add(op_type, inputs, output);
  for (const AttributeProto& attribute : node_.proto().attribute()) {
    if (std::ranges::count(but_for, attribute.name()) == 0) *proto.add_attribute() = attribute;
  }
  return proto;
}

std::string Function::extent(const std::string& name, const Extent& extent) {
  const std::string bound = node_.output_name() + "/" + name;
  node_.state().bind(bound, Integers{true, ir::ElementType::kInt64, {extent}});
  call_.add_input(bound);
  function_.add_input(name);
  return name;
}

std::string Function::counted(const std::string& name, const Extent& count) {
  const std::string end = extent(name + "/end", count);
  add("Range", {extent(name + "/first", 0), end, extent(name + "/step", 1)}, name);
  return name;
}

std::string Function::constant(const std::string& name, onnx_pb::TensorProto value) {
  AttributeProto& attribute = *add("Constant", {}, name).add_attribute();
  attribute.set_name("value");
  attribute.set_type(AttributeProto::TENSOR);
  *attribute.mutable_t() = std::move(value);
  return name;
}

std::string Function::codes(const std::string& name, const ir::Tensor& values, int bits) {
  using onnx_pb::TensorProto;
  const std::int32_t type = bits == 2   ? TensorProto::UINT2
                            : bits == 4 ? TensorProto::UINT4
                                        : TensorProto::UINT8;
  return constant(name, encode_codes(values, type));
}

std::string Function::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  return constant(
      name, encode_tensor(ir::Tensor::from<std::int64_t>({std::ssize(values)}, std::span(values))));
}

std::string Function::scalar(const std::string& name, float value) {
  return constant(name, encode_tensor(ir::Tensor::from<float>({}, std::span(&value, 1))));
}

std::string Function::slice(const std::string& x, std::int64_t axis, std::int64_t begin,
                            std::int64_t end, const std::string& output) {
  add("Slice",
      {x, integers(output + "/begin", {begin}), integers(output + "/end", {end}),
       integers(output + "/axis", {axis})},
      output);
  return output;
}

std::string Function::transpose(const std::string& x, const std::vector<std::int64_t>& order,
                                const std::string& output) {
  AttributeProto& perm = *add("Transpose", {x}, output).add_attribute();
  perm.set_name("perm");
  perm.set_type(AttributeProto::INTS);
  for (const std::int64_t axis : order) perm.add_ints(axis);
  return output;
}

std::string Function::dequantize(std::size_t i) {
  std::string numbers = "numbers" + std::to_string(i);
  add("DequantizeLinear", {in(i), in(i + 1), in(i + 2)}, numbers);
  return numbers;
}

void Function::quantize(const std::string& numbers, std::size_t scale, std::size_t zero) {
  add("QuantizeLinear", {numbers, in(scale), in(zero)}, "y");
}

void Function::build() { inline_function(node_.state(), function_, call_); }

}  // namespace halftone::formats::onnx

// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/testing.h"

#include "halftone/base/error.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

onnx_pb::AttributeProto& add(onnx_pb::NodeProto& node, const std::string& name,
                             onnx_pb::AttributeProto::AttributeType type) {
  onnx_pb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace

TestModel::TestModel(std::int64_t opset) {
  proto_.set_ir_version(8);
  proto_.add_opset_import()->set_version(opset);
  proto_.mutable_graph()->set_name("test");
}

TestModel& TestModel::input(const std::string& name, const std::vector<std::int64_t>& dims,
                            std::int32_t data_type) {
  auto& info = *proto_.mutable_graph()->add_input();
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(data_type);
  type.mutable_shape();
  for (const std::int64_t dim : dims) {
    auto& extent = *type.mutable_shape()->add_dim();
    if (dim == -1) {
      extent.set_dim_param("N");
    } else {
      extent.set_dim_value(dim);
    }
  }
  return *this;
}

TestModel& TestModel::output(const std::string& name) {
  proto_.mutable_graph()->add_output()->set_name(name);
  return *this;
}

TestModel& TestModel::floats(const std::string& name, const std::vector<std::int64_t>& dims,
                             const std::vector<float>& values) {
  return initializer(name, encode_tensor(ir::test::floats(ir::Shape(dims), values)));
}

TestModel& TestModel::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  const ir::Shape shape{static_cast<ir::Dim>(values.size())};
  return initializer(name, encode_tensor(ir::Tensor::from<std::int64_t>(shape, values)));
}

TestModel& TestModel::initializer(const std::string& name, onnx_pb::TensorProto proto) {
  proto.set_name(name);
  *proto_.mutable_graph()->add_initializer() = std::move(proto);
  return *this;
}

onnx_pb::NodeProto& TestModel::node(const std::string& op_type,
                                    const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs) {
  onnx_pb::NodeProto& node = *proto_.mutable_graph()->add_node();
  node.set_op_type(op_type);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

std::vector<std::byte> TestModel::bytes() const {
  std::vector<std::byte> bytes(proto_.ByteSizeLong());
  proto_.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

ir::Graph TestModel::import(const std::filesystem::path& folder) const {
  return import_onnx(bytes(), folder);
}

void set(onnx_pb::NodeProto& node, const std::string& name, std::int64_t value) {
  add(node, name, onnx_pb::AttributeProto::INT).set_i(value);
}

void set(onnx_pb::NodeProto& node, const std::string& name, float value) {
  add(node, name, onnx_pb::AttributeProto::FLOAT).set_f(value);
}

void set(onnx_pb::NodeProto& node, const std::string& name, const std::string& value) {
  add(node, name, onnx_pb::AttributeProto::STRING).set_s(value);
}

void set(onnx_pb::NodeProto& node, const std::string& name,
         const std::vector<std::int64_t>& values) {
  auto& attribute = add(node, name, onnx_pb::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

std::string import_failure(std::span<const std::byte> bytes, ErrorKind& kind) {
  try {
    static_cast<void>(import_onnx(bytes, {}));
  } catch (const Error& error) {
    kind = error.kind();
    return error.what();
  }
  return "";
}

void expect_failure(const TestModel& model, ErrorKind kind, const std::string& text) {
  ErrorKind found{};
  const std::string message = import_failure(model.bytes(), found);
  EXPECT_THAT(message, testing::HasSubstr(text));
  EXPECT_EQ(found, kind) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

onnx_pb::TensorProto codes(std::int32_t type, const ir::Shape& shape,
                           const std::vector<int>& values) {
  ir::Tensor tensor(ir::ElementType::kUint8, shape);
  std::ranges::transform(values, tensor.as<std::uint8_t>().begin(),
                         [](int x) { return static_cast<std::uint8_t>(x); });
  return encode_codes(tensor, type);
}

std::vector<int> counted(int count, int first) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(first + i);
  return values;
}

}  // namespace halftone::formats::onnx

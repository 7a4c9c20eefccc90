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

namespace {

std::size_t count_of(const std::vector<std::int64_t>& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

std::vector<float> pattern_values(const Operand& operand) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count_of(operand.dims); ++i) {
    const int step = (static_cast<int>(i) * 7 + operand.seed * 3) % 11 - 5;
    values.push_back(static_cast<float>(step) / 10);
  }
  return values;
}

onnx_pb::TensorProto integers_proto(const Operand& operand) {
  onnx_pb::TensorProto proto;
  proto.set_data_type(operand.type);
  for (const std::int64_t dim : operand.dims) proto.add_dims(dim);
  for (const std::int64_t value : operand.integers) {
    if (operand.type == onnx_pb::TensorProto::INT64) {
      proto.add_int64_data(value);
    } else {
      proto.add_int32_data(static_cast<std::int32_t>(value));
    }
  }
  return proto;
}

}  // namespace

Operand pattern(const std::vector<std::int64_t>& dims, int seed) { return {dims, seed}; }

Operand whole(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& values,
              std::int32_t type) {
  return {dims, 0, values, type};
}

Operand absent() { return {{}, 0, {}, onnx_pb::TensorProto::UNDEFINED}; }

TestModel OperatorCase::model(std::size_t num_outputs) const {
  TestModel model(opset);
  if (!domain.empty()) {
    auto& own = *model.proto().add_opset_import();
    own.set_domain(domain);
    own.set_version(1);
  }
  std::vector<std::string> names;
  for (const Operand& operand : inputs) {
    const std::string name = "in" + std::to_string(names.size());
    names.push_back(operand.type == onnx_pb::TensorProto::UNDEFINED ? "" : name);
    if (names.size() == 1) {
      const bool is_float = operand.type == onnx_pb::TensorProto::FLOAT;
      model.input(is_float ? name : "unused",
                  is_float ? operand.dims : std::vector<std::int64_t>{1});
      if (is_float) continue;
    }
    if (names.back().empty()) continue;
    if (operand.type == onnx_pb::TensorProto::FLOAT) {
      model.floats(name, operand.dims, pattern_values(operand));
    } else {
      model.initializer(name, integers_proto(operand));
    }
  }
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < num_outputs; ++i) outputs.push_back("y" + std::to_string(i));
  onnx_pb::NodeProto& node = model.node(op_type, names, outputs);
  node.set_name("n");
  node.set_domain(domain);
  if (fill) fill(node);
  for (const std::string& output : node.output()) {
    if (!output.empty()) model.output(output);
  }
  return model;
}

std::vector<std::vector<float>> OperatorCase::run(std::size_t num_outputs) const {
  const bool is_float = inputs[0].type == onnx_pb::TensorProto::FLOAT;
  ir::Tensor x = is_float ? floats(ir::Shape(inputs[0].dims), pattern_values(inputs[0]))
                          : ir::Tensor(ir::ElementType::kFloat32, {1});
  std::vector<std::vector<float>> results;
  for (const ir::Tensor& y : run_reference(model(num_outputs).import(), list(std::move(x)))) {
    const ir::Tensor wide = y.cast(ir::ElementType::kFloat32);
    results.emplace_back(wide.as<float>().begin(), wide.as<float>().end());
  }
  return results;
}

std::vector<int> counted(int count, int first) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(first + i);
  return values;
}

}  // namespace halftone::formats::onnx

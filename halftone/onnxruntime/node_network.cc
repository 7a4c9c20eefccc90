// SPDX-License-Identifier: Apache-2.0
#include "halftone/onnxruntime/node_network.h"

#include <algorithm>
#include <utility>

#include "halftone/api/hosted_plan.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/one_operator.h"
#include "halftone/formats/onnx/registry.h"
#include "onnx.pb.h"

namespace halftone::onnxruntime {
namespace {

/// The name of an input, and of the output, in the network of one layer.
std::string input_name(std::size_t index) { return "input " + std::to_string(index); }
constexpr const char* kOutput = "output";

/// The operator set and the version of files that networks of one layer claim.
constexpr std::int64_t kOpset = 17;
constexpr std::int64_t kIrVersion = 8;

std::unique_ptr<onnx_pb::ModelProto> empty_model() {
  auto model = std::make_unique<onnx_pb::ModelProto>();
  model->set_ir_version(kIrVersion);
  model->add_opset_import()->set_version(kOpset);
  auto& own = *model->add_opset_import();
  own.set_domain(std::string(formats::onnx::kHalftoneDomain));
  own.set_version(1);
  model->mutable_graph()->set_name("layer");
  model->mutable_graph()->add_output()->set_name(kOutput);
  return model;
}

void fill(const HostTensor& from, onnx_pb::TensorProto& to) {
  to.set_data_type(from.type);
  for (const std::int64_t extent : from.extents) to.add_dims(extent);
  to.set_raw_data(from.bytes.data(), from.bytes.size());
}

}  // namespace

NodeNetwork::NodeNetwork(const Host& host, const OrtKernelInfo& node,
                         const formats::onnx::OwnOperator& op, int threads)
    : host_(host), threads_(threads), name_(host.text<GetNodeName>(&node)) {
  with_context(name_, [&] {
    if (op.is_network) {
      read_network(host.text<GetStringAttribute>(&node, formats::onnx::kNetworkBytes));
    } else {
      read_layer(node, op);
    }
  });
}

NodeNetwork::~NodeNetwork() = default;

void NodeNetwork::read_network(const std::string& bytes) {
  model_ = std::make_unique<onnx_pb::ModelProto>();
  if (!model_->ParseFromString(bytes)) {
    fail(ErrorKind::kFormat, "expected an ONNX model in the operator, found " +
                                 std::to_string(bytes.size()) + " other bytes");
  }
  // To ONNX Runtime states are inputs and outputs like others.
  model_->clear_metadata_props();
  for (int i = 0; i < model_->graph().input_size(); ++i) {
    given_.push_back(static_cast<std::size_t>(i));
  }
}

void NodeNetwork::read_layer(const OrtKernelInfo& node, const formats::onnx::OwnOperator& op) {
  model_ = empty_model();
  onnx_pb::NodeProto& proto = *model_->mutable_graph()->add_node();
  proto.set_domain(std::string(formats::onnx::kHalftoneDomain));
  proto.set_op_type(std::string(op.name));
  proto.set_name(name_);
  proto.add_output(kOutput);
  read_attributes(node, op);
  read_inputs(node);
}

void NodeNetwork::read_attributes(const OrtKernelInfo& node, const formats::onnx::OwnOperator& op) {
  onnx_pb::NodeProto& proto = *model_->mutable_graph()->mutable_node(0);
  for (const std::string& name : op.attributes) {
    std::int64_t integer = 0;
    float number = 0;
    std::size_t count = 0;
    onnx_pb::AttributeProto attribute;
    attribute.set_name(name);
    // An attribute of another type than the operator has is handed on, for the reader to reject.
    if (host_.succeeds<GetIntAttribute>(&node, name.c_str(), &integer)) {
      attribute.set_type(onnx_pb::AttributeProto::INT);
      attribute.set_i(integer);
    } else if (host_.succeeds<GetFloatAttribute>(&node, name.c_str(), &number)) {
      attribute.set_type(onnx_pb::AttributeProto::FLOAT);
      attribute.set_f(number);
    } else if (host_.succeeds<GetStringAttribute>(&node, name.c_str(), nullptr, &count)) {
      attribute.set_type(onnx_pb::AttributeProto::STRING);
      attribute.set_s(host_.text<GetStringAttribute>(&node, name.c_str()));
    } else if (host_.succeeds<GetIntsAttribute>(&node, name.c_str(), nullptr, &count)) {
      std::vector<std::int64_t> integers(count);
      host_.call<GetIntsAttribute>(&node, name.c_str(), integers.data(), &count);
      attribute.set_type(onnx_pb::AttributeProto::INTS);
      for (const std::int64_t i : integers) attribute.add_ints(i);
    } else {
      continue;
    }
    *proto.add_attribute() = std::move(attribute);
  }
}

void NodeNetwork::read_inputs(const OrtKernelInfo& node) {
  onnx_pb::GraphProto& graph = *model_->mutable_graph();
  std::size_t count = 0;
  host_.call<GetInputCount>(&node, &count);
  for (std::size_t i = 0; i < count; ++i) {
    std::string& name = *graph.mutable_node(0)->add_input();
    if (host_.text<GetInputName>(&node, i).empty()) continue;
    name = input_name(i);
    int is_constant = 0;
    const OrtValue* value = nullptr;
    host_.call<GetConstantInput>(&node, i, &is_constant, &value);
    if (is_constant != 0 && i != 0) {
      onnx_pb::TensorProto& tensor = *graph.add_initializer();
      tensor.set_name(name);
      fill(host_.tensor(value), tensor);
    } else {
      given_.push_back(i);
      graph.add_input()->set_name(name);
    }
  }
}

std::shared_ptr<NodeNetwork::Prepared> NodeNetwork::make(
    const std::vector<HostTensor>& inputs) const {
  auto message = std::make_shared<onnx_pb::ModelProto>(*model_);
  auto result = std::make_shared<Prepared>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    onnx_pb::ValueInfoProto& info = *message->mutable_graph()->mutable_input(static_cast<int>(i));
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(inputs[i].type);
    auto& shape = *type.mutable_shape();
    shape.clear_dim();
    for (const std::int64_t extent : inputs[i].extents) shape.add_dim()->set_dim_value(extent);
    result->shapes.push_back(inputs[i].extents);
  }
  result->plan = hosted_plan({formats::import_onnx(formats::OnnxModel{std::move(message)}), name_});
  result->outputs = output_extents(*result->plan);
  return result;
}

std::shared_ptr<NodeNetwork::Prepared> NodeNetwork::prepared(
    const std::vector<HostTensor>& inputs) {
  const auto fits = [&](const std::shared_ptr<Prepared>& plan) {
    return std::ranges::equal(plan->shapes, inputs, {}, {}, &HostTensor::extents);
  };
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(plans_, fits);
  if (found == plans_.end()) {
    plans_.push_front(make(inputs));
    if (plans_.size() > kShapes) plans_.pop_back();
  } else if (found != plans_.begin()) {
    std::rotate(plans_.begin(), found, found + 1);
  }
  return plans_.front();
}

std::unique_ptr<runtime::Session> NodeNetwork::take(Prepared& from) {
  {
    const std::scoped_lock lock(mutex_);
    if (!from.idle.empty()) {
      auto session = std::move(from.idle.back());
      from.idle.pop_back();
      return session;
    }
  }
  return std::make_unique<runtime::Session>(from.plan);
}

void NodeNetwork::run(OrtKernelContext& context) {
  const UseThreadSettings use({.threads = threads_});
  std::vector<HostTensor> inputs;
  for (const std::size_t i : given_) {
    const OrtValue* value = nullptr;
    host_.call<GetInput>(&context, i, &value);
    inputs.push_back(host_.tensor(value));
  }
  const std::shared_ptr<Prepared> shape = with_context(name_, [&] { return prepared(inputs); });
  std::vector<std::span<const std::byte>> in;
  for (const HostTensor& input : inputs) in.emplace_back(input.bytes);
  std::vector<std::span<std::byte>> out;
  for (std::size_t i = 0; i < shape->outputs.size(); ++i) {
    const std::vector<std::int64_t>& extents = shape->outputs[i];
    OrtValue* value = nullptr;
    host_.call<GetOutput>(&context, i, extents.data(), extents.size(), &value);
    out.push_back(host_.tensor(value).bytes);
  }
  auto session = take(*shape);
  session->run(in, out);
  const std::scoped_lock lock(mutex_);
  shape->idle.push_back(std::move(session));
}

}  // namespace halftone::onnxruntime

// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/exporter.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/axis_order.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::AttributeProto;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;

/// The IR version that came with an operator set, or before it.
std::int64_t ir_version(std::int64_t opset) {
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

/// Tensors of this size stay where they are until it is known whether the model holds them.
constexpr std::size_t kLargeBytes = std::size_t{1} << 20;
/// Tensors of this size go into an external file, if there is one.
constexpr std::size_t kExternalBytes = 1024;
/// Where a tensor begins in an external file: at a page, so that runtimes may map it.
constexpr std::uint64_t kExternalAlignment = 4096;

void set_entry(TensorProto& proto, const std::string& key, std::uint64_t value) {
  auto& entry = *proto.add_external_data();
  entry.set_key(key);
  entry.set_value(std::to_string(value));
}

/// The data of a tensor, which it loses.
SharedBytes taken_data(TensorProto& proto) {
  const auto owner = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
  proto.clear_raw_data();
  return {owner, std::as_bytes(std::span(*owner)), 0};
}

std::string unique(std::unordered_set<std::string>& taken, const std::string& wanted) {
  std::string name = wanted.empty() ? "v" : wanted;
  for (int number = 1; !taken.insert(name).second; ++number) {
    name = wanted + "_" + std::to_string(number);
  }
  return name;
}

AttributeProto& add_attribute(NodeProto& node, const std::string& name,
                              AttributeProto::AttributeType type) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace

Exporter::Exporter(const ir::Graph& graph, const ExportOptions& options)
    : graph_(graph), options_(options) {
  // Inputs and outputs of the graph keep their names; other values with the same names are renamed.
  for (const ir::ValueId id : graph.inputs()) claim("input", id);
  for (const ir::ValueId id : graph.outputs()) {
    if (!names_.contains(id)) claim("output", id);
  }
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    const bool lives = graph.constant(id) != nullptr || graph.producer(id).has_value();
    if (lives && !names_.contains(id)) names_[id] = fresh(graph.value(id).name);
  }
}

Exporter::Exporter(const ir::Graph& body, Exporter& outer, const std::vector<std::string>& captured)
    : graph_(body),
      taken_(outer.taken_),
      node_names_(outer.node_names_),
      opset_(outer.opset_),
      options_(outer.options_) {
  const std::size_t first_captured = body.inputs().size() - captured.size();
  for (std::size_t i = 0; i < captured.size(); ++i) {
    names_[body.inputs()[first_captured + i]] = captured[i];
  }
  for (std::size_t v = 0; v < body.num_values(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    if (!names_.contains(id)) names_[id] = fresh(body.value(id).name);
  }
}

onnx_pb::GraphProto Exporter::finish_body(Exporter& outer) {
  embed_later();
  outer.taken_ = std::move(taken_);
  outer.node_names_ = std::move(node_names_);
  outer.require_opset(opset_);
  outer.uses_halftone_domain_ |= uses_halftone_domain_;
  outer.uses_microsoft_domain_ |= uses_microsoft_domain_;
  model_->mutable_graph()->set_name(outer.node_name_ + "/body");
  return std::move(*model_->mutable_graph());
}

void Exporter::add_body_input(const std::string& name, const ir::ValueType& type) {
  *model_->mutable_graph()->add_input() = value_info(name, type);
}

void Exporter::add_body_output(const std::string& name, const ir::ValueType& type) {
  *model_->mutable_graph()->add_output() = value_info(name, type);
}

void Exporter::claim(const char* role, ir::ValueId id) {
  const std::string& name = graph_.value(id).name;
  names_[id] = fresh(name);
  if (name.empty() || names_[id] == name) return;
  unsupported(std::string(role) + " '" + name +
              "' has the name of another input or output: expected each to have its own");
}

std::string Exporter::fresh(const std::string& wanted) { return unique(taken_, wanted); }

const ir::ValueType& Exporter::type(ir::ValueId id) const {
  const auto image = image_rank_ == 0 ? image_types_.end() : image_types_.find(id);
  return image == image_types_.end() ? graph_.value(id).type : image->second;
}

const std::string& Exporter::name(ir::ValueId id) const {
  const auto image = image_rank_ == 0 ? images_.end() : images_.find(id);
  return image == images_.end() ? names_.at(id) : image->second;
}

std::string Exporter::add_image(ir::ValueId id) {
  std::string image = fresh(names_.at(id) + "/image");
  set_image(id, image);
  return image;
}

void Exporter::set_image(ir::ValueId id, const std::string& name) {
  only_images_.insert(id);
  images_[id] = name;
  ir::ValueType type = graph_.value(id).type;
  const std::vector<std::size_t> order = channels_first(type.shape.rank());
  for (std::size_t i = 0; i < order.size(); ++i) {
    type.shape[i] = graph_.value(id).type.shape[order[i]];
  }
  image_types_[id] = type;
}

/// Outputs of the graph keep their names.
void Exporter::set_name(ir::ValueId id, const std::string& name) {
  if (std::ranges::count(graph_.outputs(), id) == 0) {
    names_[id] = name;
  } else {
    add_node("Identity", {name}, names_.at(id));
  }
}

std::string Exporter::read_image(ir::ValueId id) {
  const auto known = images_.find(id);
  if (known != images_.end()) return known->second;
  const std::string source = read(id);
  std::string image = add_image(id);
  only_images_.erase(id);
  add_transpose(source, channels_first(graph_.value(id).type.shape.rank()), image);
  return image;
}

/// [C] as [1, C, 1, ...].
std::string Exporter::read_constant_image(ir::ValueId id) {
  const auto& tensor = std::get<ir::Tensor>(*graph_.constant(id));
  if (tensor.size() == 1) return read_as(id, [&] { return encode_tensor(tensor); });
  const auto [known, is_new] = constant_images_.try_emplace({id, image_rank_});
  if (is_new) {
    std::vector<ir::Dim> dims(image_rank_ - tensor.shape().rank(), 1);
    dims.insert(dims.end(), tensor.shape().dims().begin(), tensor.shape().dims().end());
    const ir::Tensor padded = tensor.reshaped(ir::Shape(std::move(dims)));
    const ir::Transpose transpose{channels_first(image_rank_)};
    known->second = add_initializer(names_.at(id),
                                    encode_tensor(ir::evaluate(transpose, std::vector{&padded})));
  }
  return known->second;
}

/// The node's own name stays for what follows.
void Exporter::add_transpose(const std::string& input, const std::vector<std::size_t>& permutation,
                             const std::string& output) {
  const std::string own = std::exchange(node_name_, output + "/transpose");
  const std::vector<std::int64_t> order(permutation.begin(), permutation.end());
  set_attribute(add_node("Transpose", {input}, output), "perm", order);
  node_name_ = own;
}

std::string Exporter::read(ir::ValueId id) {
  if (image_rank_ != 0 && images_.contains(id)) return images_.at(id);
  if (image_rank_ != 0 && graph_.constant(id) != nullptr) return read_constant_image(id);
  if (only_images_.erase(id) > 0) {
    add_transpose(images_.at(id), channels_last(graph_.value(id).type.shape.rank()), names_.at(id));
  }
  if (!type(id).encoding.is_dense() && is_standard() && graph_.producer(id)) return names_.at(id);
  if (!type(id).encoding.is_dense()) {
    fail(ErrorKind::kUnsupported, "reads '" + graph_.value(id).name +
                                      "', codes of a basis: only layers can read codes in ONNX");
  }
  const ir::Constant* constant = graph_.constant(id);
  if (constant == nullptr) return names_.at(id);
  const auto& tensor = std::get<ir::Tensor>(*constant);
  return read_as(id, [&] {
    return tensor.bytes().size() < kLargeBytes ? encode_tensor(tensor)
                                               : encode_later(graph_.value(id).constant);
  });
}

/// A tensor whose data finish() adds: external data with its index in `later_`.
onnx_pb::TensorProto Exporter::encode_later(std::shared_ptr<const ir::Constant> constant) {
  constexpr std::size_t kReadable = 64;  // behind the elements of a tensor
  const auto& tensor = std::get<ir::Tensor>(*constant);
  TensorProto proto;
  proto.set_data_type(data_type_of(tensor.element()));
  for (const ir::Dim dim : tensor.shape().dims()) proto.add_dims(dim);
  proto.set_data_location(TensorProto::EXTERNAL);
  set_entry(proto, "index", later_.size());
  later_.push_back({std::move(constant), tensor.bytes(), kReadable});
  return proto;
}

std::string Exporter::read_as(ir::ValueId id,
                              const std::function<onnx_pb::TensorProto()>& make_tensor) {
  const std::string& known = names_.at(id);
  if (initialized_.insert(known).second) {
    onnx_pb::TensorProto& proto = *model_->mutable_graph()->add_initializer();
    proto = make_tensor();
    proto.set_name(known);
  }
  return known;
}

std::string Exporter::read_bases(ir::ValueId id,
                                 const std::function<onnx_pb::TensorProto()>& make_tensor) {
  const auto [known, is_new] = bases_.try_emplace(id);
  if (is_new) known->second = add_initializer(names_.at(id) + "/scales", make_tensor());
  return known->second;
}

std::string Exporter::add_initializer(const std::string& wanted, onnx_pb::TensorProto proto) {
  std::string added = fresh(wanted);
  proto.set_name(added);
  *model_->mutable_graph()->add_initializer() = std::move(proto);
  return added;
}

bool Exporter::adds_bias_apart(const ir::Node& layer) const {
  if (!is_standard()) return false;
  ir::ValueId x = layer.inputs[0];
  while (true) {
    if (!type(x).encoding.is_dense()) return true;
    const auto producer = graph_.producer(x);
    if (!producer) return false;
    const ir::Node& node = graph_.node(*producer);
    if (std::holds_alternative<ir::DequantizeLinear>(node.op)) return true;
    if (!ir::traits_of(node.op).selects) return false;
    x = node.inputs[0];
  }
}

std::string Exporter::add_parameter(const std::string& role, onnx_pb::TensorProto proto) {
  const auto [known, is_new] = parameters_.try_emplace(proto.SerializeAsString());
  if (is_new) {
    const std::size_t number = roles_[role]++;
    known->second =
        add_initializer(number == 0 ? role : role + "_" + std::to_string(number), std::move(proto));
  }
  return known->second;
}

std::string Exporter::add_scalar(const std::string& role, float value) {
  return add_parameter(role, encode_tensor(ir::Tensor::from<float>({}, std::span(&value, 1))));
}

std::string Exporter::add_integers(const std::string& role,
                                   const std::vector<std::int64_t>& values) {
  const ir::Shape shape{static_cast<ir::Dim>(values.size())};
  return add_parameter(role, encode_tensor(ir::Tensor::from<std::int64_t>(shape, values)));
}

const std::string& Exporter::computed_extent(const std::string& text,
                                             const std::function<std::string()>& add) {
  const auto known = extents_.find(text);
  if (known != extents_.end()) return known->second;
  std::string name = add();
  return extents_.emplace(text, std::move(name)).first->second;
}

NodeProto& Exporter::add_node(std::string_view op_type, const std::vector<std::string>& inputs,
                              const std::string& output) {
  NodeProto& node = *model_->mutable_graph()->add_node();
  node.set_op_type(std::string(op_type));
  node.set_name(unique(node_names_, node_name_));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void Exporter::require_halftone_domain() {
  if (is_standard()) unsupported("ONNX has no such operator, only Halftone's own domain");
  uses_halftone_domain_ = true;
}

const ir::EncodedTensor* Exporter::codes(ir::ValueId id) const {
  const ir::Constant* constant = is_standard() ? graph_.constant(id) : nullptr;
  return constant == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(constant);
}

void Exporter::require_opset(std::int64_t version) { opset_ = std::max(opset_, version); }

onnx_pb::ValueInfoProto Exporter::value_info(const std::string& name,
                                             const ir::ValueType& type) const {
  onnx_pb::ValueInfoProto info;
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(data_type_of(type.encoding.element));
  auto& shape = *tensor.mutable_shape();
  for (const ir::Dim dim : type.shape.dims()) {
    auto& extent = *shape.add_dim();
    if (ir::is_open(dim)) {
      std::string param = ir::to_string(dim);
      const std::string bare = param.front() == '\'' ? param.substr(1, param.size() - 2) : param;
      if (bare != ir::kBatchSymbol) param = bare;  // 'N' is an extent that is not the batch
      extent.set_dim_param(param);
    } else {
      extent.set_dim_value(dim);
    }
  }
  return info;
}

void Exporter::add_input(ir::ValueId id) {
  if (!type(id).encoding.is_dense()) {
    fail(ErrorKind::kUnsupported, "input '" + name(id) + "' in a basis");
  }
  for (std::size_t axis = 0; axis < type(id).shape.rank(); ++axis) {
    const ir::Dim extent = type(id).shape[axis];
    // Files say 0 for an unknown extent.
    const bool is_symbol = ir::is_expression(extent) && ir::extent_of(extent).name();
    if (extent == 0 || (extent < ir::kBatch && !is_symbol)) {
      fail(ErrorKind::kUnsupported, "input '" + name(id) + "' of " + type(id).to_string() +
                                        ": expected the batch as an axis and no extent of 0");
    }
  }
  *model_->mutable_graph()->add_input() = value_info(name(id), type(id));
}

void Exporter::add_output(ir::ValueId id) {
  const std::string name = read(id);
  const auto& outputs = model_->graph().output();
  if (std::ranges::find(outputs, name, &onnx_pb::ValueInfoProto::name) != outputs.end()) {
    unsupported("output '" + name + "' is listed twice: expected each output once");
  }
  *model_->mutable_graph()->add_output() = value_info(name, type(id));
}

void Exporter::add_states() {
  for (const ir::State& state : graph_.states()) {
    if (state.after == ir::kAbsent) continue;
    auto& entry = *model_->add_metadata_props();
    entry.set_key(std::string(kStateKey) + name(state.before));
    entry.set_value(name(state.after));
  }
}

OnnxModel Exporter::finish(const ExternalFile& external) {
  add_states();
  model_->set_ir_version(ir_version(opset_));
  model_->set_producer_name("halftone");
  model_->mutable_graph()->set_name("main");
  auto& standard = *model_->add_opset_import();
  standard.set_domain("");
  standard.set_version(opset_);
  if (uses_halftone_domain_) {
    auto& own = *model_->add_opset_import();
    own.set_domain(std::string(kHalftoneDomain));
    own.set_version(1);
  }
  if (uses_microsoft_domain_) {
    auto& other = *model_->add_opset_import();
    other.set_domain(std::string(kMicrosoftDomain));
    other.set_version(1);
  }
  std::size_t size = model_->ByteSizeLong();
  for (const SharedBytes& data : later_) size += data.bytes.size();
  if (size > external.above) {
    if (!external.name.empty()) return {model_, move_out(external.name)};
    fail(ErrorKind::kUnsupported, "a model of " + std::to_string(size) +
                                      " bytes: expected at most 2 GiB in one piece; in a file it "
                                      "may have external data");
  }
  embed_later();
  return {model_};
}

/// Adds the data of large tensors to the model.
void Exporter::embed_later() {
  for (TensorProto& proto : *model_->mutable_graph()->mutable_initializer()) {
    if (proto.data_location() != TensorProto::EXTERNAL) continue;
    const auto data = later_.at(std::stoul(proto.external_data(0).value())).bytes;
    proto.clear_external_data();
    proto.clear_data_location();
    proto.set_raw_data(data.data(), data.size());
  }
}

/// Moves the data of large tensors out of the model.
/// @param file  where they will be
std::vector<ExternalTensor> Exporter::move_out(const std::string& file) {
  std::vector<ExternalTensor> moved;
  std::uint64_t end = 0;
  for (TensorProto& proto : *model_->mutable_graph()->mutable_initializer()) {
    const bool is_later = proto.data_location() == TensorProto::EXTERNAL;
    if (!is_later && proto.raw_data().size() < kExternalBytes) continue;
    SharedBytes data =
        is_later ? later_.at(std::stoul(proto.external_data(0).value())) : taken_data(proto);
    const std::uint64_t offset =
        (end + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
    end = offset + data.bytes.size();
    proto.set_data_location(TensorProto::EXTERNAL);
    proto.clear_external_data();
    auto& location = *proto.add_external_data();
    location.set_key("location");
    location.set_value(file);
    set_entry(proto, "offset", offset);
    set_entry(proto, "length", data.bytes.size());
    moved.push_back({offset, std::move(data)});
  }
  return moved;
}

void set_attribute(NodeProto& node, const std::string& name, std::int64_t value) {
  add_attribute(node, name, AttributeProto::INT).set_i(value);
}

void set_attribute(NodeProto& node, const std::string& name, float value) {
  add_attribute(node, name, AttributeProto::FLOAT).set_f(value);
}

void set_attribute(NodeProto& node, const std::string& name, std::string_view value) {
  add_attribute(node, name, AttributeProto::STRING).set_s(std::string(value));
}

void set_attribute(NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values) {
  auto& ints = *add_attribute(node, name, AttributeProto::INTS).mutable_ints();
  ints.Assign(values.begin(), values.end());
}

void set_attribute(NodeProto& node, const std::string& name, const std::vector<float>& values) {
  auto& floats = *add_attribute(node, name, AttributeProto::FLOATS).mutable_floats();
  floats.Assign(values.begin(), values.end());
}

void set_attribute(NodeProto& node, const std::string& name,
                   const std::vector<std::string>& values) {
  AttributeProto& attribute = add_attribute(node, name, AttributeProto::STRINGS);
  for (const std::string& value : values) attribute.add_strings(value);
}

void unsupported(const std::string& what) { fail(ErrorKind::kUnsupported, what); }

}  // namespace halftone::formats::onnx

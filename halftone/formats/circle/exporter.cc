// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/exporter.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/file_layers.h"
#include "halftone/formats/circle/lower.h"
#include "halftone/ir/code_parameters.h"

namespace halftone::formats::circle {
namespace {

constexpr std::uint32_t kTfliteVersion = 3;
constexpr std::uint32_t kCircleVersion = 0;

/// As files store a shape: with a number for open extents.
std::vector<std::int32_t> stored_extents(const ir::Shape& shape, std::int32_t open) {
  std::vector<std::int32_t> result;
  for (const ir::Dim dim : shape.dims()) {
    if (dim > std::numeric_limits<std::int32_t>::max()) {
      fail(ErrorKind::kUnsupported, "an extent of " + std::to_string(dim) + " in " +
                                        shape.to_string() + ": expected less than 2^31");
    }
    result.push_back(static_cast<std::int32_t>(ir::is_open(dim) ? open : dim));
  }
  return result;
}

/// @throws Error kUnsupported if more than one axis has the batch
void check_input(const ir::Value& input) {
  if (std::ranges::count_if(input.type.shape.dims(), ir::is_open) <= 1) return;
  fail(ErrorKind::kUnsupported,
       "input '" + input.name + "' of " + input.type.to_string() + ": expected one batch axis");
}

std::unique_ptr<schema::QuantizationParametersT> quantization_of(
    const ir::AffineParameters& parameters) {
  auto quantization = std::make_unique<schema::QuantizationParametersT>();
  quantization->scale = parameters.scales;
  quantization->zero_point.assign(parameters.zero_points.begin(), parameters.zero_points.end());
  quantization->quantized_dimension =
      parameters.scales.size() > 1 ? static_cast<std::int32_t>(parameters.axis) : 0;
  return quantization;
}

}  // namespace

Exporter::Exporter(const ir::Graph& graph, CircleFlavor flavor)
    : graph_(graph),
      flavor_(flavor),
      code_nodes_(find_code_nodes(graph)),
      file_(std::make_shared<FileParts>()) {
  schema::ModelT& model = file_->model;
  model.version = flavor == CircleFlavor::kTflite ? kTfliteVersion : kCircleVersion;
  model.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  model.buffers.push_back(std::make_unique<schema::BufferT>());  // buffer 0 is empty
}

Exporter::Exporter(const ir::Graph& graph, const Exporter& outer)
    : graph_(graph),
      flavor_(outer.flavor_),
      code_nodes_(find_code_nodes(graph)),
      file_(outer.file_),
      subgraph_(file_->model.subgraphs.size()) {
  file_->model.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
}

std::int32_t Exporter::add_subgraph(const ir::Graph& graph, const std::string& name) {
  const ir::Graph in_file = lowered(with_file_layers(graph));
  Exporter inner(in_file, *this);
  inner.subgraph().name = name;
  inner.begin();
  inner.add_operators();
  for (const ir::ValueId id : in_file.outputs()) {
    inner.subgraph().outputs.push_back(inner.tensor(id));
  }
  return static_cast<std::int32_t>(inner.subgraph_);
}

SharedBytes Exporter::run() {
  begin();
  add_operators();
  return finish();
}

SharedBytes Exporter::run_as_one_operator(std::span<const std::byte> network) {
  begin();
  add_network(network);
  return finish();
}

void Exporter::begin() {
  collect_quantization();
  for (const ir::ValueId id : graph_.inputs()) names_.insert(graph_.value(id).name);
  for (const ir::ValueId id : graph_.outputs()) names_.insert(graph_.value(id).name);
  schema::SubGraphT& graph = subgraph();
  for (const ir::ValueId id : graph_.inputs()) check_input(graph_.value(id));
  for (const ir::ValueId id : graph_.untied(graph_.inputs())) graph.inputs.push_back(tensor(id));
  begin_states();
}

SharedBytes Exporter::finish() {
  end_states();
  schema::SubGraphT& graph = subgraph();
  graph.outputs = outputs_;
  if (outputs_.empty()) {
    for (const ir::ValueId id : graph_.untied(graph_.outputs()))
      graph.outputs.push_back(tensor(id));
  }
  if (flavor_ == CircleFlavor::kTflite) sign();
  // Without a copy into a larger buffer, unless a small network has much beside its constants.
  std::size_t size = std::size_t{16} << 10;
  for (const auto& buffer : file_->model.buffers) size += buffer->data.size() + 64;
  for (const auto& op : graph.operators) size += op->custom_options.size();
  flatbuffers::FlatBufferBuilder builder(size);
  builder.Finish(schema::Model::Pack(builder, &file_->model),
                 flavor_ == CircleFlavor::kTflite ? "TFL3" : "CIR0");
  const auto buffer = std::make_shared<const flatbuffers::DetachedBuffer>(builder.Release());
  return {buffer, std::as_bytes(std::span(buffer->data(), buffer->size()))};
}

/// The inputs and outputs by name, as TensorFlow's converter describes them: runtimes and
/// quantizers call a network by its signature.
void Exporter::sign() {
  const schema::SubGraphT& graph = subgraph();
  const auto mapped = [this](std::span<const ir::ValueId> values, std::span<const TensorIndex> at) {
    std::vector<std::unique_ptr<schema::TensorMapT>> maps;
    for (std::size_t i = 0; i < values.size(); ++i) {
      maps.push_back(std::make_unique<schema::TensorMapT>());
      maps.back()->name = graph_.value(values[i]).name;
      maps.back()->tensor_index = static_cast<std::uint32_t>(at[i]);
    }
    return maps;
  };
  auto signature = std::make_unique<schema::SignatureDefT>();
  signature->signature_key = "serving_default";
  signature->inputs = mapped(graph_.untied(graph_.inputs()), graph.inputs);
  signature->outputs = mapped(graph_.untied(graph_.outputs()), graph.outputs);
  file_->model.signature_defs.push_back(std::move(signature));
}

void Exporter::add_operators() {
  std::vector<std::string> refusals;
  for (const ir::NodeId id : graph_.topological_order()) {
    if (code_nodes_.conversions.contains(id)) continue;
    const ir::Node& node = graph_.node(id);
    node_in_codes_ = code_nodes_.computing.contains(id) ? &node : nullptr;
    try {
      export_node(*this, node);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      refusals.emplace_back(error.what());
    }
  }
  node_in_codes_ = nullptr;
  if (!refusals.empty()) {
    fail(ErrorKind::kUnsupported, "cannot be written: " + listing(refusals));
  }
}

/// Files store the scale with the integer tensor, graphs with the nodes before and after it.
void Exporter::collect_quantization() {
  ir::CodeParameters found = ir::code_parameters(graph_);
  if (found.ambiguous) {
    fail(ErrorKind::kUnsupported,
         "'" + graph_.value(*found.ambiguous).name +
             "': expected one scale for all readers of the integers, found different ones");
  }
  quantization_ = std::move(found.of_value);
}

std::unique_ptr<schema::TensorT> Exporter::describe(const std::string& name,
                                                    schema::TensorType type,
                                                    const ir::Shape& shape) {
  auto tensor = std::make_unique<schema::TensorT>();
  tensor->name = name;
  tensor->type = type;
  tensor->shape = stored_extents(shape.with_batch(1), 1);
  if (!shape.is_static()) tensor->shape_signature = stored_extents(shape, -1);
  return tensor;
}

/// A name that no tensor has. Circle files keep names as they are: their readers go by indices.
std::string Exporter::unique(const std::string& name) {
  if (flavor_ != CircleFlavor::kTflite) return name;
  const std::string base = name.empty() ? "constant" : name;
  std::size_t& count = copies_[base];
  std::string result = base;
  while (!names_.insert(result).second) result = base + "_" + std::to_string(++count);
  return result;
}

TensorIndex Exporter::append(std::unique_ptr<schema::TensorT> tensor) {
  auto& tensors = subgraph().tensors;
  tensors.push_back(std::move(tensor));
  return static_cast<TensorIndex>(tensors.size() - 1);
}

ir::ValueId Exporter::stored(ir::ValueId value) const {
  if (!in_codes()) return value;
  if (value == node_in_codes_->output) return graph_.node(graph_.consumers(value)[0]).output;
  const ir::ValueId codes = codes_behind(graph_, value);
  return codes == ir::kAbsent ? value : codes;
}

TensorIndex Exporter::tensor(ir::ValueId wanted) {
  if (wanted == ir::kAbsent) return kNoTensor;
  const ir::ValueId id = stored(wanted);
  const auto known = tensors_.find(id);
  if (known != tensors_.end()) return known->second;
  const ir::Value& value = graph_.value(id);
  if (!value.type.encoding.is_dense()) {
    fail(ErrorKind::kUnsupported,
         "'" + value.name +
             "': expected a dense value, found codes of a basis, which only layers can read");
  }
  const bool is_end =
      std::ranges::count(graph_.inputs(), id) > 0 || std::ranges::count(graph_.outputs(), id) > 0;
  auto tensor = describe(is_end ? value.name : unique(value.name),
                         tensor_type(value.type.encoding.element), value.type.shape);
  if (value.constant) tensor->buffer = buffer(std::get<ir::Tensor>(*value.constant).bytes());
  const auto found = quantization_.find(id);
  if (found != quantization_.end()) tensor->quantization = quantization_of(found->second);
  return tensors_[id] = append(std::move(tensor));
}

TensorIndex Exporter::constant(const std::string& name, schema::TensorType type,
                               const ir::Shape& shape, std::span<const std::byte> bytes) {
  auto tensor = describe(unique(name), type, shape);
  tensor->buffer = buffer(bytes);
  return append(std::move(tensor));
}

TensorIndex Exporter::constant(const std::string& name, const ir::Tensor& codes,
                               const ir::AffineParameters& parameters) {
  auto tensor = describe(unique(name), tensor_type(codes.element()), codes.shape());
  tensor->buffer = buffer(codes.bytes());
  tensor->quantization = quantization_of(parameters);
  return append(std::move(tensor));
}

TensorIndex Exporter::variable(const std::string& name, const ir::Shape& shape) {
  auto tensor = describe(unique(name), schema::TensorType::FLOAT32, shape);
  tensor->is_variable = true;
  return append(std::move(tensor));
}

TensorIndex Exporter::integers(std::span<const std::int64_t> numbers) {
  std::vector<std::int32_t> narrow;
  for (const std::int64_t number : numbers) {
    if (number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max()) {
      fail(ErrorKind::kUnsupported,
           "expected an integer of 32 bits, found " + std::to_string(number));
    }
    narrow.push_back(static_cast<std::int32_t>(number));
  }
  return constant("", schema::TensorType::INT32, {static_cast<ir::Dim>(narrow.size())},
                  std::as_bytes(std::span(narrow)));
}

std::uint32_t Exporter::buffer(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t hash = std::hash<std::string_view>{}(text);
  const auto [first, last] = file_->buffers.equal_range(hash);
  for (auto candidate = first; candidate != last; ++candidate) {
    const auto& data = file_->model.buffers[candidate->second]->data;
    if (std::ranges::equal(std::as_bytes(std::span(data)), bytes)) return candidate->second;
  }
  file_->data_bytes += bytes.size();
  check_data_size(file_->data_bytes);
  const auto index = static_cast<std::uint32_t>(file_->model.buffers.size());
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  file_->model.buffers.push_back(std::make_unique<schema::BufferT>());
  file_->model.buffers.back()->data.assign(data, data + bytes.size());
  file_->buffers.emplace(hash, index);
  return index;
}

std::uint32_t Exporter::operator_code(OperatorCode code, const std::string& custom_name) {
  const auto [found, is_new] = file_->codes.try_emplace(
      {code, custom_name}, static_cast<std::uint32_t>(file_->model.operator_codes.size()));
  if (!is_new) return found->second;
  auto entry = std::make_unique<schema::OperatorCodeT>();
  const auto number = static_cast<std::int32_t>(code);
  entry->deprecated_builtin_code =
      number > kSeeExtendedCode ? kSeeExtendedCode : static_cast<std::int8_t>(number);
  // Circle stores small codes in the byte field, the only field that its first readers know.
  if (flavor_ == CircleFlavor::kTflite || number > kSeeExtendedCode) entry->builtin_code = number;
  entry->custom_code = custom_name;
  entry->version = version_of(code);
  file_->model.operator_codes.push_back(std::move(entry));
  return found->second;
}

schema::OperatorT& Exporter::append_operator(std::vector<TensorIndex> inputs, TensorIndex output) {
  auto op = std::make_unique<schema::OperatorT>();
  op->inputs = std::move(inputs);
  op->outputs = {output};
  auto& operators = subgraph().operators;
  operators.push_back(std::move(op));
  return *operators.back();
}

void Exporter::add(OperatorCode code, std::vector<TensorIndex> inputs, ir::ValueId output,
                   schema::BuiltinOptionsUnion options) {
  add(code, std::move(inputs), std::vector<TensorIndex>{tensor(output)}, std::move(options));
}

TensorIndex Exporter::computed_tensor(const std::string& name, const ir::ValueType& type) {
  return append(describe(unique(name), tensor_type(type.encoding.element), type.shape));
}

TensorIndex Exporter::computed(OperatorCode code, std::vector<TensorIndex> inputs, ir::Dim count,
                               schema::BuiltinOptionsUnion options) {
  const TensorIndex result =
      computed_tensor("extents", ir::dense_type(ir::ElementType::kInt32, {count}));
  add(code, std::move(inputs), std::vector<TensorIndex>{result}, std::move(options));
  return result;
}

void Exporter::add_node(OperatorCode code, const ir::Node& node,
                        schema::BuiltinOptionsUnion options,
                        std::initializer_list<TensorIndex> more) {
  std::vector<TensorIndex> inputs;
  for (const ir::ValueId input : node.inputs) inputs.push_back(tensor(input));
  inputs.insert(inputs.end(), more);
  add(code, std::move(inputs), node.output, std::move(options));
}

void Exporter::add_custom(const std::string& name, std::vector<TensorIndex> inputs,
                          ir::ValueId output, std::span<const std::byte> options) {
  schema::OperatorT& op = append_operator(std::move(inputs), tensor(output));
  op.opcode_index = operator_code(OperatorCode::kCustom, name);
  const auto* data = reinterpret_cast<const std::uint8_t*>(options.data());
  op.custom_options.assign(data, data + options.size());
}

void check_data_size(std::size_t data_bytes) {
  constexpr std::size_t kTables = std::size_t{64} << 20;
  constexpr std::size_t kMax = FLATBUFFERS_MAX_BUFFER_SIZE - kTables;
  if (data_bytes > kMax) {
    fail(ErrorKind::kUnsupported, "expected at most " + std::to_string(kMax) +
                                      " bytes of weights in one file, found " +
                                      std::to_string(data_bytes));
  }
}

}  // namespace halftone::formats::circle

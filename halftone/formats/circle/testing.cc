// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "halftone/numerics/test_data.h"

namespace halftone::formats::circle {

ir::EncodedTensor random_encoded(Random& random, ir::Dim rows, ir::Dim cols,
                                 numerics::MatrixEncoding encoding) {
  const auto r = static_cast<std::size_t>(rows);
  const auto c = static_cast<std::size_t>(cols);
  encoding.allocate(r, c);
  for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
    const ir::Tensor a = ir::test::uniform_tensor({encoding.bits}, random, 0.1, 1);
    const float offset = encoding.has_offset ? static_cast<float>(random.normal()) : 0;
    encoding.set_levels(i, numerics::make_basis(a.as<float>(), offset));
  }
  ir::EncodedTensor tensor;
  tensor.shape = {rows, cols};
  tensor.codes = numerics::random_planes(random, r, c, encoding.bits);
  tensor.encoding = std::make_shared<const numerics::MatrixEncoding>(std::move(encoding));
  return tensor;
}

ir::Graph small_network() {
  Random random(7);
  ir::Graph graph;
  const auto x =
      graph.add_input("pixels", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6}));
  const auto w1 = graph.add_constant("dense1.kernel", random_tensor({5, 6}, random));
  const auto b1 = graph.add_constant("dense1.bias", random_tensor({5}, random));
  const auto w2 = graph.add_constant("dense2.kernel", random_tensor({3, 5}, random));
  const auto hidden =
      graph.add_node("dense1", ir::FullyConnected{{ir::ActivationKind::kRelu, 0, 0}}, {x, w1, b1});
  const auto scores = graph.add_node("dense2", ir::FullyConnected{}, {hidden, w2});
  graph.add_output(graph.add_node("softmax", ir::Softmax{1, 1, false}, {scores}, "probabilities"));
  return graph;
}

ir::Graph small_lowbit_network() {
  Random random(9);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 37}));
  numerics::MatrixEncoding channel;
  channel.bits = 2;
  channel.granularity = numerics::Granularity::kChannel;
  numerics::MatrixEncoding group;
  group.bits = 3;
  group.has_offset = true;
  group.granularity = numerics::Granularity::kGroup;
  group.group_size = 4;
  const auto encode = [&](ir::ValueId value, const char* name, float offset) {
    const std::array<float, 2> a = {0.75F, 0.31F};
    auto encoding = std::make_shared<const numerics::MatrixEncoding>(
        numerics::tensor_encoding(numerics::make_basis(a, offset)));
    return graph.add_node(name, ir::Encode{encoding}, {value});
  };
  const auto w1 = graph.add_constant("w1", random_encoded(random, 9, 37, channel));
  const auto b1 = graph.add_constant("b1", random_tensor({9}, random));
  const auto w2 = graph.add_constant("w2", random_encoded(random, 4, 9, group));
  const auto hidden =
      graph.add_node("layer1", ir::FullyConnected{{ir::ActivationKind::kTanh, 0, 0}},
                     {encode(x, "encode1", 0), w1, b1});
  graph.add_output(
      graph.add_node("layer2", ir::FullyConnected{}, {encode(hidden, "encode2", 0.25F), w2}));
  return graph;
}

ir::Graph round_trip(const ir::Graph& graph, CircleFlavor flavor) {
  return import_circle(export_circle(graph, flavor));
}

schema::ModelT unpacked(std::span<const std::byte> bytes) {
  schema::ModelT model;
  schema::GetModel(bytes.data())->UnPackTo(&model);
  return model;
}

std::vector<std::byte> packed(const schema::ModelT& model, const char* identifier) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::Model::Pack(builder, &model), identifier);
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> edited(std::span<const std::byte> bytes,
                              const std::function<void(schema::ModelT&)>& edit) {
  schema::ModelT model = unpacked(bytes);
  edit(model);
  return packed(model, circle_flavor(bytes) == CircleFlavor::kCircle ? "CIR0" : "TFL3");
}

FileBuilder::FileBuilder() {
  model_.buffers.push_back(std::make_unique<schema::BufferT>());
  subgraph();
}

void FileBuilder::subgraph() { model_.subgraphs.push_back(std::make_unique<schema::SubGraphT>()); }

std::int32_t FileBuilder::tensor(const FileTensor& tensor) {
  auto& tensors = model_.subgraphs.back()->tensors;
  auto table = std::make_unique<schema::TensorT>();
  table->name = "t" + std::to_string(tensors.size());
  table->shape = tensor.shape;
  table->type = tensor.type;
  if (!tensor.data.empty()) {
    table->buffer = static_cast<std::uint32_t>(model_.buffers.size());
    auto buffer = std::make_unique<schema::BufferT>();
    const auto* data = reinterpret_cast<const std::uint8_t*>(tensor.data.data());
    buffer->data.assign(data, data + tensor.data.size());
    model_.buffers.push_back(std::move(buffer));
  }
  tensors.push_back(std::move(table));
  return static_cast<std::int32_t>(tensors.size() - 1);
}

void FileBuilder::op(OperatorCode code, Indices inputs, Indices outputs,
                     schema::BuiltinOptionsUnion options) {
  auto entry = std::make_unique<schema::OperatorCodeT>();
  const auto number = static_cast<std::int32_t>(code);
  entry->deprecated_builtin_code = static_cast<std::int8_t>(std::min(number, 127));
  entry->builtin_code = number;
  auto op = std::make_unique<schema::OperatorT>();
  op->opcode_index = static_cast<std::uint32_t>(model_.operator_codes.size());
  op->inputs = std::move(inputs);
  op->outputs = std::move(outputs);
  op->builtin_options = std::move(options);
  model_.operator_codes.push_back(std::move(entry));
  model_.subgraphs.back()->operators.push_back(std::move(op));
}

std::int32_t FileBuilder::computed(OperatorCode code, Indices inputs, const FileTensor& output,
                                   schema::BuiltinOptionsUnion options) {
  const std::int32_t index = tensor(output);
  op(code, std::move(inputs), {index}, std::move(options));
  return index;
}

void FileBuilder::ends(Indices inputs, Indices outputs) {
  model_.subgraphs.back()->inputs = std::move(inputs);
  model_.subgraphs.back()->outputs = std::move(outputs);
}

std::vector<std::byte> FileBuilder::bytes() const { return packed(model_); }

schema::ModelT one_operator(std::int32_t code, const std::vector<FileTensor>& tensors,
                            std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                            schema::BuiltinOptionsUnion options) {
  FileBuilder file;
  for (const FileTensor& tensor : tensors) file.tensor(tensor);
  file.op(OperatorCode{code}, std::move(inputs), outputs, std::move(options));
  file.ends({0}, std::move(outputs));
  return std::move(file.model());
}

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "expected an error";
  return {ErrorKind::kInternal, "none"};
}

}  // namespace halftone::formats::circle

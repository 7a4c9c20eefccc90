// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "halftone/numerics/test_data.h"

namespace halftone::formats::circle {

ir::EncodedTensor random_encoded(Random& random, ir::Dim rows, ir::Dim cols,
                                 numerics::BasisEncoding encoding) {
  const auto r = static_cast<std::size_t>(rows);
  const auto c = static_cast<std::size_t>(cols);
  encoding.bases.clear();
  for (std::size_t i = 0; i < encoding.num_bases(r, c); ++i) {
    const ir::Tensor a = ir::test::uniform_tensor({encoding.bits}, random, 0.1, 1);
    const float offset = encoding.has_offset ? static_cast<float>(random.normal()) : 0;
    encoding.bases.push_back(numerics::make_basis(a.as<float>(), offset));
  }
  ir::EncodedTensor tensor;
  tensor.shape = {rows, cols};
  tensor.codes = numerics::random_planes(random, r, c, encoding.bits);
  tensor.encoding = std::make_shared<const numerics::BasisEncoding>(std::move(encoding));
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
  numerics::BasisEncoding channel;
  channel.bits = 2;
  channel.granularity = numerics::Granularity::kChannel;
  numerics::BasisEncoding group;
  group.bits = 3;
  group.has_offset = true;
  group.granularity = numerics::Granularity::kGroup;
  group.group_size = 4;
  const auto encode = [&](ir::ValueId value, const char* name, float offset) {
    const std::array<float, 2> a = {0.75F, 0.31F};
    auto encoding = std::make_shared<const numerics::BasisEncoding>(
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

schema::ModelT one_operator(std::int32_t code, const std::vector<FileTensor>& tensors,
                            std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                            schema::BuiltinOptionsUnion options) {
  schema::ModelT model;
  model.buffers.push_back(std::make_unique<schema::BufferT>());
  auto graph = std::make_unique<schema::SubGraphT>();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto tensor = std::make_unique<schema::TensorT>();
    tensor->name = "t" + std::to_string(i);
    tensor->shape = tensors[i].shape;
    tensor->type = tensors[i].type;
    if (!tensors[i].data.empty()) {
      tensor->buffer = static_cast<std::uint32_t>(model.buffers.size());
      auto buffer = std::make_unique<schema::BufferT>();
      const auto* data = reinterpret_cast<const std::uint8_t*>(tensors[i].data.data());
      buffer->data.assign(data, data + tensors[i].data.size());
      model.buffers.push_back(std::move(buffer));
    }
    graph->tensors.push_back(std::move(tensor));
  }
  auto entry = std::make_unique<schema::OperatorCodeT>();
  entry->deprecated_builtin_code = static_cast<std::int8_t>(std::min(code, 127));
  entry->builtin_code = code;
  model.operator_codes.push_back(std::move(entry));
  auto op = std::make_unique<schema::OperatorT>();
  op->inputs = std::move(inputs);
  op->outputs = outputs;
  op->builtin_options = std::move(options);
  graph->operators.push_back(std::move(op));
  graph->inputs = {0};
  graph->outputs = std::move(outputs);
  model.subgraphs.push_back(std::move(graph));
  return model;
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

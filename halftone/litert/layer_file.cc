// SPDX-License-Identifier: Apache-2.0
#include "halftone/litert/layer_file.h"

#include <map>
#include <memory>
#include <utility>

#include "circle_generated.h"
#include "halftone/formats/circle/constant_tensor.h"

namespace halftone::litert {
namespace {

namespace schema = formats::circle::schema;

/// Adds nodes and the tensors that they name to a file.
class FileOfLayers {
 public:
  explicit FileOfLayers(const Host& host) : host_(host) {
    model_.version = 3;
    model_.buffers.push_back(std::make_unique<schema::BufferT>());  // buffer 0 is empty
    model_.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  }

  std::vector<std::int32_t> tensors(std::span<const int> indices) {
    std::vector<std::int32_t> result;
    for (const int index : indices) result.push_back(index < 0 ? -1 : tensor(index));
    return result;
  }

  void add(int index) {
    const HostNode node = host_.node(index);
    auto op = std::make_unique<schema::OperatorT>();
    op->opcode_index = code(node.custom_name);
    op->inputs = tensors(elements(node.node->inputs));
    op->outputs = tensors(elements(node.node->outputs));
    const std::span<const std::byte> options = node.options();
    const auto* data = reinterpret_cast<const std::uint8_t*>(options.data());
    op->custom_options.assign(data, data + options.size());
    graph().operators.push_back(std::move(op));
  }

  SharedBytes bytes(const LayerEnds& ends) {
    graph().inputs = tensors(ends.inputs);
    graph().outputs = tensors(ends.outputs);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(schema::Model::Pack(builder, &model_), "TFL3");
    const auto buffer = std::make_shared<const flatbuffers::DetachedBuffer>(builder.Release());
    return {buffer, std::as_bytes(std::span(buffer->data(), buffer->size()))};
  }

 private:
  schema::SubGraphT& graph() { return *model_.subgraphs[0]; }

  std::int32_t tensor(int index) {
    const auto [found, is_new] =
        tensors_.try_emplace(index, static_cast<std::int32_t>(graph().tensors.size()));
    if (!is_new) return found->second;
    const HostTensor from = host_.tensor(index);
    auto to = std::make_unique<schema::TensorT>();
    to->name = host_.tensor_name(index);
    to->type = formats::circle::tensor_type(from.type);
    to->shape.assign(from.extents.begin(), from.extents.end());
    if (from.is_constant) {
      to->buffer = static_cast<std::uint32_t>(model_.buffers.size());
      const auto* data = reinterpret_cast<const std::uint8_t*>(from.bytes.data());
      model_.buffers.push_back(std::make_unique<schema::BufferT>());
      model_.buffers.back()->data.assign(data, data + from.bytes.size());
    }
    graph().tensors.push_back(std::move(to));
    return found->second;
  }

  std::uint32_t code(const std::string& name) {
    const auto [found, is_new] =
        codes_.try_emplace(name, static_cast<std::uint32_t>(model_.operator_codes.size()));
    if (!is_new) return found->second;
    auto entry = std::make_unique<schema::OperatorCodeT>();
    entry->deprecated_builtin_code = static_cast<std::int8_t>(kTfLiteBuiltinCustom);
    entry->builtin_code = kTfLiteBuiltinCustom;
    entry->custom_code = name;
    model_.operator_codes.push_back(std::move(entry));
    return found->second;
  }

  const Host& host_;
  schema::ModelT model_;
  std::map<int, std::int32_t> tensors_;
  std::map<std::string, std::uint32_t> codes_;
};

}  // namespace

SharedBytes layer_file(const Host& host, std::span<const int> nodes, const LayerEnds& ends) {
  FileOfLayers file(host);
  for (const int node : nodes) file.add(node);
  return file.bytes(ends);
}

}  // namespace halftone::litert

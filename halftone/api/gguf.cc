// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/gguf.h"

#include <algorithm>
#include <charconv>
#include <variant>

#include "halftone/api/tensor_files.h"
#include "halftone/base/error.h"
#include "halftone/formats/gguf/gguf_file.h"

namespace halftone {
namespace {

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

struct ValueText {
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::string_view value) const { return std::string(value); }
  std::string operator()(const formats::GgufArray& list) const {
    return std::to_string(list.size()) + (list.texts.empty() ? " numbers" : " texts");
  }
};

StoredTensor describe(const formats::GgufTensor& tensor) {
  return {tensor.name, std::string(tensor.type->name), tensor.shape, tensor.bytes.bytes.size()};
}

void add_use(std::vector<TensorTypeUse>& uses, const formats::GgufTensor& tensor) {
  auto found = std::ranges::find(uses, tensor.type->name, &TensorTypeUse::type);
  if (found == uses.end()) {
    uses.push_back({std::string(tensor.type->name)});
    found = uses.end() - 1;
  }
  ++found->tensors;
  found->elements += tensor.num_elements();
  found->bytes += tensor.bytes.bytes.size();
}

}  // namespace

bool is_gguf(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

GgufInspection inspect_gguf(const std::filesystem::path& path) {
  const formats::GgufFile file = formats::GgufFile::open(path);
  GgufInspection result;
  result.file_bytes = file.file_bytes();
  with_context(path.string(), [&] {
    result.architecture = file.text("general.architecture").value_or("");
    result.name = file.text("general.name").value_or("");
  });
  for (const auto& [key, value] : file.keys()) {
    result.keys.emplace_back(key, std::visit(ValueText(), value));
  }
  std::size_t bytes = 0;
  for (const formats::GgufTensor& tensor : file.tensors()) {
    result.tensors.push_back(describe(tensor));
    add_use(result.types, tensor);
    result.parameters += tensor.num_elements();
    bytes += tensor.bytes.bytes.size();
  }
  if (result.parameters != 0) {
    result.bits_per_weight =
        8 * static_cast<double>(bytes) / static_cast<double>(result.parameters);
  }
  std::ranges::stable_sort(result.types, std::greater(), &TensorTypeUse::bytes);
  return result;
}

StoredTensor decode_tensor(const std::filesystem::path& path, std::string_view name,
                           const std::filesystem::path& output) {
  const formats::GgufFile file = formats::GgufFile::open(path);
  const formats::GgufTensor* tensor = file.tensor(name);
  if (tensor == nullptr) {
    fail(ErrorKind::kUsage, path.string() + ": expected a tensor of the file, found '" +
                                std::string(name) + "'; inspect lists them");
  }
  ir::Tensor values(ElementType::kFloat32,
                    ir::Shape(std::vector<ir::Dim>(tensor->shape.begin(), tensor->shape.end())));
  with_context(path.string() + ": " + tensor->name, [&] {
    formats::decode_gguf(*tensor->type, tensor->bytes.bytes, values.as<float>());
  });
  write_tensor(output, values);
  return describe(*tensor);
}

}  // namespace halftone

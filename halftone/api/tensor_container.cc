// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/tensor_container.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/memory.h"
#include "halftone/base/paths.h"
#include "halftone/data/npy.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/safetensors/safetensors_file.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/model_file.h"
#include "halftone/lm/model/open_model.h"

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

StoredTensor describe(const formats::SafetensorsTensor& tensor) {
  return {tensor.name, std::string(to_string(tensor.type)), tensor.shape,
          tensor.bytes.bytes.size()};
}

StoredTensor describe(const lm::ModelFile::Entry& tensor) {
  const std::string_view type =
      tensor.encoding != nullptr ? tensor.encoding->name : to_string(tensor.type);
  return {tensor.name, std::string(type), tensor.shape, tensor.bytes.bytes.size()};
}

/// Adds tensors and what follows from them.
template <typename Tensors>
void add_tensors(ContainerInspection& result, const Tensors& tensors) {
  std::size_t bytes = 0;
  for (const auto& tensor : tensors) {
    const StoredTensor& stored = result.tensors.emplace_back(describe(tensor));
    auto use = std::ranges::find(result.types, stored.type, &TensorTypeUse::type);
    if (use == result.types.end()) use = result.types.insert(use, {stored.type});
    ++use->tensors;
    use->elements += tensor.num_elements();
    use->bytes += stored.bytes;
    result.parameters += tensor.num_elements();
    bytes += stored.bytes;
  }
  if (result.parameters != 0) {
    result.bits_per_weight =
        8 * static_cast<double>(bytes) / static_cast<double>(result.parameters);
  }
  std::ranges::stable_sort(result.types, std::greater(), &TensorTypeUse::bytes);
}

std::size_t idle_parameters(const lm::Description& d) {
  if (d.experts == 0) return 0;
  const std::size_t matrices = d.is_gated ? 3 : 2;
  return d.expert_blocks() * (d.experts - d.active_experts) * matrices * d.inner * d.width;
}

LanguageModelSummary summary_of(const lm::Description& d) {
  constexpr std::size_t kHalfBytes = 2;
  return {.blocks = d.blocks,
          .width = d.width,
          .heads = d.heads,
          .kv_heads = d.kv_heads,
          .inner = d.inner,
          .experts = d.experts,
          .active_experts = d.active_experts,
          .idle_parameters = idle_parameters(d),
          .vocabulary = d.vocabulary,
          .context = d.context,
          .cache_bytes = d.cache_width() * kHalfBytes};
}

/// Adds what a file says of a language model.
/// @param describe_model  gives its description
/// @param find_weights    finds what the description needs
template <typename Describe, typename Find>
void add_model(ContainerInspection& result, const Describe& describe_model,
               const Find& find_weights) {
  try {
    const lm::Description description = describe_model();
    result.model = summary_of(description);
    result.architecture = description.architecture;
    const lm::Weights weights = find_weights(description);
    result.unread_tensors.assign(weights.unused().begin(), weights.unused().end());
  } catch (const Error& error) {
    result.why_not_run = error.what();
  }
}

ContainerInspection inspect_gguf(const std::filesystem::path& path) {
  const formats::GgufFile file = formats::GgufFile::open(path);
  ContainerInspection result;
  result.format = "gguf";
  result.file_bytes = file.file_bytes();
  with_context(path.string(), [&] {
    result.architecture = file.text("general.architecture").value_or("");
    result.name = file.text("general.name").value_or("");
  });
  for (const auto& [key, value] : file.keys()) {
    result.keys.emplace_back(key, std::visit(ValueText(), value));
  }
  add_tensors(result, file.tensors());
  if (!result.architecture.empty()) {
    add_model(
        result, [&] { return lm::describe_gguf(file); },
        [&](const lm::Description& description) { return lm::Weights(description, file); });
  }
  return result;
}

lm::ModelFile parse_model(const std::filesystem::path& path, formats::SafetensorsFile file) {
  return with_context(path.string(), [&] { return lm::ModelFile::parse(std::move(file)); });
}

ContainerInspection inspect_safetensors(const std::filesystem::path& path) {
  formats::SafetensorsFile file = formats::SafetensorsFile::open(path);
  ContainerInspection result;
  result.format = "safetensors";
  result.file_bytes = file.file_bytes();
  result.keys.assign(file.metadata().begin(), file.metadata().end());
  if (!lm::ModelFile::is_model(file)) {
    add_tensors(result, file.tensors());
    return result;
  }
  const lm::ModelFile model = parse_model(path, std::move(file));
  add_tensors(result, model.tensors());
  add_model(
      result, [&] { return model.description(); },
      [&](const lm::Description& description) { return lm::Weights(description, model); });
  return result;
}

bool is_gguf(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

/// The tensor of a file. @throws Error kUsage if there is none
template <typename File>
const auto& tensor_of(const File& file, const std::filesystem::path& path, std::string_view name) {
  const auto* tensor = file.tensor(name);
  if (tensor == nullptr) {
    fail(ErrorKind::kUsage, path.string() + ": expected a tensor of the file, found '" +
                                std::string(name) + "'; inspect lists them");
  }
  return *tensor;
}

/// Writes a tensor whose elements `decode` stores.
template <typename Tensor, typename Decode>
StoredTensor write_decoded(const Tensor& tensor, const std::filesystem::path& output,
                           const Decode& decode) {
  const std::size_t bytes = tensor.num_elements() * sizeof(float);
  require_memory(bytes, "tensor '" + tensor.name + "' in float32");
  data::NpyArray array{data::Scalar::kFloat32, tensor.shape, std::vector<std::byte>(bytes)};
  with_context("tensor '" + tensor.name + "'", [&] {
    decode({reinterpret_cast<float*>(array.data.data()), tensor.num_elements()});
  });
  data::write_npy(output, array);
  return describe(tensor);
}

}  // namespace

bool is_tensor_container(const std::filesystem::path& path) {
  return is_gguf(path) || path_exists(path / "config.json") || path.extension() == ".safetensors" ||
         path.string().ends_with(".safetensors.index.json");
}

ContainerInspection inspect_container(const std::filesystem::path& path) {
  if (is_folder(path)) {
    ContainerInspection result = inspect_safetensors(lm::weights_file_of(path));
    std::optional<lm::ModelParts> model;
    add_model(
        result, [&] { return model.emplace(lm::open_model(path)).description; },
        [&](const lm::Description&) { return model->weights; });
    return result;
  }
  return is_gguf(path) ? inspect_gguf(path) : inspect_safetensors(path);
}

StoredTensor decode_tensor(const std::filesystem::path& path, std::string_view name,
                           const std::filesystem::path& output) {
  check_output_file(path, output);
  if (is_gguf(path)) {
    const formats::GgufFile file = formats::GgufFile::open(path);
    const formats::GgufTensor& tensor = tensor_of(file, path, name);
    return write_decoded(tensor, output, [&](std::span<float> values) {
      numerics::decode_blocks(*tensor.type, tensor.bytes.bytes, values);
    });
  }
  formats::SafetensorsFile file =
      formats::SafetensorsFile::open(is_folder(path) ? lm::weights_file_of(path) : path);
  const formats::SafetensorsTensor& tensor = tensor_of(file, path, name);
  if (lm::ModelFile::is_model(file)) {
    const auto entries = parse_model(path, file).tensors();
    const auto entry = std::ranges::find(entries, name, &lm::ModelFile::Entry::name);
    if (entry != entries.end()) {
      return write_decoded(*entry, output, [&](std::span<float> values) { entry->decode(values); });
    }
  }
  return write_decoded(tensor, output, [&](std::span<float> values) {
    formats::decode_safetensors(tensor, values);
  });
}

}  // namespace halftone

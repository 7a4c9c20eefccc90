// SPDX-License-Identifier: Apache-2.0
// Folders of Hugging Face with decoded weights.
#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/folder.h"
#include "halftone/base/json/json_text.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/formats/safetensors/safetensors_writer.h"
#include "halftone/lm/quantize/plain_types.h"
#include "halftone/lm/quantize/tensor_parts.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

using formats::NewSafetensorsTensor;
using formats::SafetensorsType;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kTensors = "model.safetensors";

/// Files that hold weights, in this format or another, which the new ones replace.
bool holds_weights(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 10> kEndings = {
      ".safetensors", ".bin", ".pt",      ".pth",  ".gguf",
      ".onnx",        ".h5",  ".msgpack", ".ckpt", ".tflite"};
  const std::string name = path.filename().string();
  return std::ranges::find(kEndings, path.extension().string()) != kEndings.end() ||
         name.ends_with(".index.json");
}

void copy_other_files(const std::filesystem::path& source, const std::filesystem::path& target) {
  for (const std::filesystem::path& file : files_in(source)) {
    const std::filesystem::path name = file.filename();
    if (!holds_weights(name) && name != kConfig) write_file(target / name, read_file(file));
  }
}

std::string text_of(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A config.json whose weights are float32.
std::string float32_config(const std::filesystem::path& path) {
  auto config = nlohmann::ordered_json::parse(json_of_python(text_of(path)), nullptr, false);
  if (!config.is_object()) fail(ErrorKind::kFormat, path.string() + ": is no JSON object");
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (config.contains(key)) config[key] = "float32";
  }
  constexpr int kIndent = 2;
  return config.dump(kIndent) + "\n";
}

/// Numbers of float32 as another plain type.
ByteSource rounded(ByteSource numbers, const WeightType& type) {
  return [numbers = std::move(numbers), &type](const ByteSink& sink) {
    const std::vector<std::byte> bytes = collect(numbers);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    sink(plain_bytes(values, type));
  };
}

NewSafetensorsTensor new_tensor(const formats::SafetensorsTensor& tensor, const TensorParts& fitted,
                                FittedForm form) {
  const std::vector<FittedPart>& parts = fitted.of(tensor.name, tensor.num_elements());
  if (parts.empty()) return {tensor.name, tensor.type, tensor.shape, source_of(tensor.bytes)};
  for (const FittedPart& part : parts) {
    if (part.weight->factor == 1) continue;
    fail(ErrorKind::kUnsupported, "tensor '" + printable(tensor.name) +
                                      "': expected plain numbers, found a factor beside them; "
                                      "write NAME.safetensors instead of a folder");
  }
  const WeightType* type = plain_type(formats::to_string(tensor.type));
  if (form == FittedForm::kDecoded || type == nullptr) {
    return {tensor.name, SafetensorsType::kF32, tensor.shape, fitted.decoded(parts)};
  }
  return {tensor.name, tensor.type, tensor.shape, rounded(fitted.decoded(parts), *type)};
}

}  // namespace

void check_folder_types(const ModelParts& model, const TypeChoice& choice) {
  for (const auto& [id, type] : choice) {
    const Weight& weight = model.weights.at(id);
    if (weight.scales.bytes.empty()) continue;
    fail(ErrorKind::kUnsupported, "tensor '" + printable(weight.tensor) +
                                      "_blocks': expected plain numbers, found MXFP4; write "
                                      "NAME.gguf or NAME.safetensors instead of a folder");
  }
}

void write_folder_model(const std::filesystem::path& path, const std::filesystem::path& source,
                        const Folding& folding, const FittedMatrices& fitted, FittedForm form) {
  const auto file = formats::SafetensorsFile::open(weights_file_of(source));
  const TensorParts parts(folding, fitted);
  TypeChoice choice;
  for (const auto& [id, matrix] : fitted) {
    if (id.role != WeightRole::kFinalTransform) choice.emplace(id, matrix.type);
  }
  check_folder_types(folding.model(), choice);
  std::vector<NewSafetensorsTensor> tensors;
  for (const formats::SafetensorsTensor& tensor : file.tensors()) {
    tensors.push_back(new_tensor(tensor, parts, form));
  }
  NewFolder folder(path);
  copy_other_files(source, folder.temporary());
  const bool is_float32 = form == FittedForm::kDecoded;
  write_file(folder.temporary() / kConfig,
             is_float32 ? float32_config(source / kConfig) : text_of(source / kConfig));
  // Readers of Hugging Face ask for this key.
  formats::write_safetensors(folder.temporary() / kTensors, {{"format", "pt"}}, tensors);
  folder.finish();
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/write_model.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/gzip/gzip.h"
#include "halftone/base/printable.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/tensor_names.h"
#include "halftone/lm/quantize/tensor_parts.h"

namespace halftone::lm {
namespace {

using formats::GgufTensor;
using formats::NewGgufTensor;

/// general.file_type of a file whose matrices are mostly of a type. Source: llama.cpp,
/// include/llama.h, enum llama_ftype. A reader may show it; what counts are the types of tensors.
struct FileType {
  std::string_view type;
  std::uint32_t number;
};
constexpr FileType kFileTypes[] = {{"F32", 0},   {"Q4_0", 2},  {"Q4_1", 3},  {"Q8_0", 7},
                                   {"Q5_0", 8},  {"Q5_1", 9},  {"Q2_K", 10}, {"Q3_K", 12},
                                   {"Q4_K", 15}, {"Q5_K", 17}, {"Q6_K", 18}, {"IQ4_NL", 25},
                                   {"TQ2_0", 37}};

const formats::GgufType& float32_type() {
  for (const formats::GgufType& type : formats::gguf_types()) {
    if (type.name == "F32") return type;
  }
  fail(ErrorKind::kInternal, "GGUF has no F32");
}

/// The codes of all parts, one after another.
ByteSource codes_of(const std::vector<FittedPart>& parts) {
  return [&parts](const ByteSink& sink) {
    for (const FittedPart& part : parts) {
      const FittedMatrix& matrix = *part.matrix;
      const std::size_t row_bytes = matrix.type->size_bytes(1, matrix.cols);
      sink(matrix.encoded.bytes.bytes.subspan(part.matrix_row * row_bytes,
                                              part.weight->outputs() * row_bytes));
    }
  };
}

NewGgufTensor new_tensor(const GgufTensor& tensor, const TensorParts& fitted, FittedForm form) {
  const std::vector<FittedPart>& parts = fitted.of(tensor.name, tensor.num_elements());
  if (parts.empty()) return {tensor.name, tensor.shape, tensor.type, source_of(tensor.bytes)};
  if (form == FittedForm::kDecoded) {
    return {tensor.name, tensor.shape, &float32_type(), fitted.decoded(parts)};
  }
  const WeightType& type = TensorParts::type_of(parts);
  if (type.gguf == nullptr) {
    fail(ErrorKind::kUsage, "tensor '" + printable(tensor.name) + "': GGUF has no type " +
                                type.name + "; write a .safetensors file");
  }
  return {tensor.name, tensor.shape, type.gguf, codes_of(parts)};
}

/// The type of most weights.
std::string commonest_type(const std::vector<NewGgufTensor>& tensors) {
  std::map<std::string_view, std::size_t> weights;
  for (const NewGgufTensor& tensor : tensors) {
    std::size_t elements = 1;
    for (const std::size_t extent : tensor.shape) elements *= extent;
    weights[tensor.type->name] += elements;
  }
  return std::string(
      std::ranges::max_element(weights, {}, [](const auto& each) { return each.second; })->first);
}

void set_file_type(formats::GgufKeys& keys, const std::string& type) {
  const auto* const found = std::ranges::find(kFileTypes, type, &FileType::type);
  if (found == std::end(kFileTypes)) {
    keys.erase("general.file_type");
  } else {
    keys.set("general.file_type", found->number);
  }
  constexpr std::uint32_t kQuantizationVersion = 2;  // of the blocks of codes
  keys.set("general.quantization_version", kQuantizationVersion);
}

std::vector<std::size_t> shape_in_file(const Description& d, const WeightId& id) {
  std::vector<std::size_t> shape = shape_of(d, id);
  if (id.role >= WeightRole::kExpertGate) shape.insert(shape.begin(), d.experts);
  return shape;
}

}  // namespace

void write_gguf_model(const std::filesystem::path& path, const formats::GgufFile& source,
                      const Folding& folding, const FittedMatrices& fitted, FittedForm form) {
  const TensorParts parts(folding, fitted);
  std::vector<NewGgufTensor> tensors;
  for (const GgufTensor& tensor : source.tensors()) {
    if (!parts.is_factor(tensor.name)) tensors.push_back(new_tensor(tensor, parts, form));
  }
  formats::GgufKeys keys(source);
  set_file_type(keys, commonest_type(tensors));
  formats::write_gguf(path, keys, tensors);
}

std::size_t gguf_bytes_without(const formats::GgufFile& source, const Model& model,
                               const TypeChoice& choice) {
  constexpr std::size_t kAlignment = 64;  // of a tensor, at most what its predecessor leaves
  std::set<std::string> fitted;
  for (const auto& [id, type] : choice) {
    const std::size_t experts =
        id.role >= WeightRole::kExpertGate ? model.description.experts : std::size_t{1};
    for (std::size_t e = 0; e < experts; ++e) {
      fitted.insert(model.weights.at({id.role, id.block, id.part, e}).tensor);
    }
  }
  std::size_t bytes = source.file_bytes();
  for (const GgufTensor& tensor : source.tensors()) {
    bytes += kAlignment;
    if (fitted.contains(tensor.name)) bytes -= tensor.bytes.bytes.size();
  }
  return bytes;
}

std::size_t own_bytes_without(const Folding& folding, const TypeChoice& choice,
                              const TextFiles& texts) {
  constexpr std::size_t kEntry = 400;      // of a tensor in the head of the file
  constexpr std::size_t kHead = 16 << 10;  // the description, bases and padding
  const Description& d = folding.description();
  std::size_t bytes = kHead;
  for (const WeightId& id : needed_weights(d)) {
    if (id.expert > 0) continue;
    bytes += kEntry;
    if (choice.contains(id)) continue;
    const std::vector<std::size_t> shape = shape_in_file(d, id);
    const bool is_encoded =
        id.role == WeightRole::kFinalTransform && final_transform_type().can_hold(d.width);
    std::size_t elements = 1;
    for (const std::size_t extent : shape) elements *= extent;
    bytes +=
        is_encoded ? final_transform_type().size_bytes(d.width, d.width) : elements * sizeof(float);
  }
  for (const auto& [name, text] : texts) bytes += kEntry + gzip(text.bytes).size();
  return bytes;
}

void write_own_model(const std::filesystem::path& path, const Folding& folding,
                     const FittedMatrices& fitted, const TextFiles& texts, FittedForm form) {
  const Folding unfolded(folding.model(), {});
  const Folding& written = form == FittedForm::kDecoded ? unfolded : folding;
  const Description& d = written.description();
  std::vector<ModelTensor> tensors;
  for (const WeightId& id : needed_weights(d)) {
    if (id.expert > 0) continue;
    ModelTensor tensor{canonical_name(d, id), shape_in_file(d, id), {}};
    const auto found = fitted.find(id);
    if (found == fitted.end()) {
      tensor.elements = folded_matrix(written, id);
    } else if (form == FittedForm::kCodes) {
      tensor.elements = found->second.encoded;
    } else {
      tensor.elements = decode_unfolded(folding, id, found->second);
    }
    tensors.push_back(std::move(tensor));
  }
  write_model_file(path, d, tensors, texts);
}

}  // namespace halftone::lm

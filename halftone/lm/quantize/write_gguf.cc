// SPDX-License-Identifier: Apache-2.0
// Writes quantized models to GGUF files.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/quantize/new_gguf_tensors.h"
#include "halftone/lm/quantize/tensor_parts.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

using formats::GgufTensor;
using formats::NewGgufTensor;

constexpr std::size_t kAlignment = 64;  // of a tensor, at most what its predecessor leaves

/// general.file_type of a file whose matrices are mostly of a type. Source: llama.cpp,
/// include/llama.h, enum llama_ftype. A reader may show it; what counts are the types of tensors.
struct FileType {
  std::string_view type;
  std::uint32_t number;
};
constexpr FileType kFileTypes[] = {{"F32", 0},   {"F16", 1},     {"BF16", 32},  {"Q4_0", 2},
                                   {"Q4_1", 3},  {"Q8_0", 7},    {"Q5_0", 8},   {"Q5_1", 9},
                                   {"Q2_K", 10}, {"Q3_K", 12},   {"Q4_K", 15},  {"Q5_K", 17},
                                   {"Q6_K", 18}, {"IQ4_NL", 25}, {"TQ2_0", 37}, {"MXFP4", 38}};

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
    return {tensor.name, tensor.shape, &formats::gguf_float32(), fitted.decoded(parts)};
  }
  const formats::GgufType& type = gguf_type_of(tensor.name, TensorParts::type_of(parts));
  return {tensor.name, tensor.shape, &type, codes_of(parts)};
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

void write_gguf_model(const std::filesystem::path& path, formats::GgufKeys keys,
                      const Folding& folding, const FittedMatrices& fitted, FittedForm form) {
  const std::vector<NewGgufTensor> tensors = new_gguf_tensors(folding, fitted, form);
  set_file_type(keys, commonest_type(tensors));
  formats::write_gguf(path, keys, tensors);
}

std::size_t gguf_bytes_without(const formats::GgufFile& source, const ModelParts& model,
                               const TypeChoice& choice) {
  std::set<std::string> fitted;
  for (const auto& [id, type] : choice) {
    for (std::size_t e = 0; e < stack_of(model.description, id.role); ++e) {
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

std::size_t gguf_bytes_without(const formats::GgufKeys& keys, const ModelParts& model,
                               const TypeChoice& choice) {
  constexpr std::size_t kFileTypeKeys = 100;
  constexpr std::size_t kEntry = 128;  // of a tensor in the head of the file
  const auto is_fitted = [&](const WeightId& id) {
    return choice.contains({id.role, id.block, id.part, 0});
  };
  std::size_t bytes = kFileTypeKeys + collect([&](const ByteSink& sink) {
                                        formats::write_gguf(sink, keys, {});
                                      }).size();
  for (const NewGgufTensor& tensor : new_gguf_divisors(model.description)) {
    bytes += kEntry + kAlignment + tensor.shape[0] * sizeof(float);
  }
  for (const NewGgufTensor& tensor : new_gguf_unread(model.description)) {
    const std::size_t elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                                 std::size_t{1}, std::multiplies());
    bytes += kEntry + kAlignment + tensor.type->bytes_of(elements);
  }
  const Description& d = model.description;
  if (d.block_input_rows != 0) {
    // Rows that the model's table lacks.
    const WeightType& largest = weight_type("Q8_0");
    bytes += largest.size_bytes(d.vocabulary - d.block_input_rows, d.blocks * d.block_input_width);
  }
  for (const NewGgufPlace& place : new_gguf_places(model.description)) {
    bytes += kEntry + kAlignment;
    if (!std::ranges::all_of(place.parts, is_fitted)) bytes += unfitted_bytes(model, place);
  }
  return bytes;
}

}  // namespace halftone::lm

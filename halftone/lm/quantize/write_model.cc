// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/write_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/tensor_names.h"

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

/// A part of a tensor that was fitted.
struct FittedPart {
  const Weight* weight = nullptr;
  const FittedMatrix* matrix = nullptr;
  std::size_t matrix_row = 0;  ///< first row within the fitted matrix
};

/// The fitted matrices by tensors of a file.
class TensorParts {
 public:
  TensorParts(const Model& model, const FittedMatrices& fitted) {
    for (const auto& [id, matrix] : fitted) {
      const bool is_expert = id.role >= WeightRole::kExpertGate;
      const std::size_t count = is_expert ? model.description.experts : 1;
      for (std::size_t e = 0; e < count; ++e) {
        const Weight& weight = model.weights.at({id.role, id.block, id.part, e});
        parts_[weight.tensor].push_back({&weight, &matrix, e * weight.outputs()});
        if (weight.factor != 1) factors_.insert(factor_name(weight.tensor));
      }
    }
    for (auto& [name, parts] : parts_) {
      std::ranges::sort(parts, {}, [](const FittedPart& part) { return part.weight->first_row; });
    }
  }

  /// The parts of a tensor, in the order of its rows; none if it is as it was.
  [[nodiscard]] const std::vector<FittedPart>& of(const GgufTensor& tensor) const {
    static const std::vector<FittedPart> none;
    const auto found = parts_.find(tensor.name);
    if (found == parts_.end()) return none;
    check(tensor, found->second);
    return found->second;
  }
  /// Whether a tensor is the factor of a fitted one, which holds it now.
  [[nodiscard]] bool is_factor(const std::string& name) const { return factors_.contains(name); }

 private:
  static std::string factor_name(const std::string& tensor) {
    return tensor.substr(0, tensor.rfind('.')) + ".scale";
  }
  static void check(const GgufTensor& tensor, const std::vector<FittedPart>& parts) {
    std::size_t elements = 0;
    for (const FittedPart& part : parts) {
      elements += part.weight->num_elements();
      if (part.matrix->type == parts[0].matrix->type) continue;
      fail_parts(tensor, "have the types " + parts[0].matrix->type->name + " and " +
                             part.matrix->type->name);
    }
    if (elements != tensor.num_elements()) fail_parts(tensor, "are not all fitted");
  }
  [[noreturn]] static void fail_parts(const GgufTensor& tensor, const std::string& message) {
    fail(ErrorKind::kUsage, "tensor '" + printable(tensor.name) +
                                "': its file keeps several matrices in it, which " + message +
                                "; give them one type");
  }

  std::map<std::string, std::vector<FittedPart>, std::less<>> parts_;
  std::set<std::string> factors_;
};

/// The rows of all parts, one after another.
ByteSource bytes_of(const std::vector<FittedPart>& parts, FittedForm form) {
  return [parts, form](const ByteSink& sink) {
    for (const FittedPart& part : parts) {
      const FittedMatrix& matrix = *part.matrix;
      const std::size_t rows = part.weight->outputs();
      if (form == FittedForm::kDecoded) {
        const std::vector<float> values = decode(matrix);
        sink(std::as_bytes(
            std::span(values).subspan(part.matrix_row * matrix.cols, rows * matrix.cols)));
      } else {
        const std::size_t row_bytes = matrix.type->size_bytes(1, matrix.cols);
        sink(matrix.encoded.bytes.bytes.subspan(part.matrix_row * row_bytes, rows * row_bytes));
      }
    }
  };
}

NewGgufTensor new_tensor(const GgufTensor& tensor, const std::vector<FittedPart>& parts,
                         FittedForm form) {
  if (parts.empty()) return {tensor.name, tensor.shape, tensor.type, source_of(tensor.bytes)};
  const WeightType& type = *parts[0].matrix->type;
  if (form == FittedForm::kCodes && type.gguf == nullptr) {
    fail(ErrorKind::kUsage, "tensor '" + printable(tensor.name) + "': GGUF has no type " +
                                type.name + "; write a .safetensors file");
  }
  return {tensor.name, tensor.shape, form == FittedForm::kDecoded ? &float32_type() : type.gguf,
          bytes_of(parts, form)};
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
                      const Model& model, const FittedMatrices& fitted, FittedForm form) {
  const TensorParts parts(model, fitted);
  std::vector<NewGgufTensor> tensors;
  for (const GgufTensor& tensor : source.tensors()) {
    if (!parts.is_factor(tensor.name)) {
      tensors.push_back(new_tensor(tensor, parts.of(tensor), form));
    }
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
  for (const auto& [name, text] : texts) bytes += kEntry + text.bytes.size();
  return bytes;
}

void write_own_model(const std::filesystem::path& path, const Folding& folding,
                     const FittedMatrices& fitted, const TextFiles& texts) {
  const Description& d = folding.description();
  std::vector<ModelTensor> tensors;
  for (const WeightId& id : needed_weights(d)) {
    if (id.expert > 0) continue;
    ModelTensor tensor{canonical_name(d, id), shape_in_file(d, id), {}};
    const auto found = fitted.find(id);
    if (found != fitted.end()) {
      tensor.elements = found->second.encoded;
    } else {
      tensor.elements = folded_matrix(folding, id);
    }
    tensors.push_back(std::move(tensor));
  }
  write_model_file(path, d, tensors, texts);
}

}  // namespace halftone::lm

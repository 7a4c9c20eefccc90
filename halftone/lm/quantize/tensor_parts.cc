// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/tensor_parts.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

/// The name of the factor that a file may keep beside a tensor.
std::string name_of_factor(const std::string& tensor) {
  return tensor.substr(0, tensor.rfind('.')) + ".scale";
}

/// Copies the rows of a matrix to where its file has them.
void place(const Weight& weight, std::span<const float> rows, std::span<float> tensor) {
  const std::size_t cols = weight.inputs();
  if (!weight.is_transposed) {
    HALFTONE_ASSERT(weight.step == 1);
    std::ranges::copy(rows, tensor.subspan(weight.first_row * cols).begin());
    return;
  }
  for (std::size_t output = 0; output < weight.outputs(); ++output) {
    for (std::size_t input = 0; input < cols; ++input) {
      tensor[(weight.first_row + input) * weight.stored_outputs + weight.begin +
             output * weight.step] = rows[output * cols + input];
    }
  }
}

}  // namespace

const formats::GgufType& gguf_type_of(const std::string& tensor, const WeightType& type) {
  if (type.gguf != nullptr) return *type.gguf;
  fail(ErrorKind::kUsage, "tensor '" + printable(tensor) + "': GGUF has no type " + type.name +
                              "; write a .safetensors file");
}

void fail_parts(const std::string& tensor, const std::string& message) {
  fail(ErrorKind::kUsage, "tensor '" + printable(tensor) +
                              "': its file keeps several matrices in it, which " + message +
                              "; give them one type");
}

std::vector<float> decode_unfolded(const Folding& folding, const WeightId& id,
                                   const FittedMatrix& matrix) {
  std::vector<float> values = decode(matrix);
  folding.unfold(id, values);
  return values;
}

void check_tensor_types(const TypeChoice& choice, const std::map<WeightId, std::string>& tensor_of,
                        bool has_codes) {
  std::map<std::string_view, const WeightType*> types;
  for (const auto& [id, tensor] : tensor_of) {
    const auto found = choice.find(id);
    const WeightType* type = found == choice.end() ? nullptr : found->second;
    if (type != nullptr && has_codes) (void)gguf_type_of(tensor, *type);
    const WeightType* first = types.emplace(tensor, type).first->second;
    if ((type == nullptr) != (first == nullptr)) fail_parts(tensor, "are not all fitted");
    if (type == first || !has_codes) continue;
    fail_parts(tensor, "have the types " + first->name + " and " + type->name);
  }
}

TensorParts::TensorParts(const Folding& folding, const FittedMatrices& fitted) : folding_(folding) {
  const ModelParts& model = folding.model();
  for (const auto& [id, matrix] : fitted) {
    if (id.role == WeightRole::kFinalTransform) continue;  // no tensor of the model
    const bool is_expert = id.role >= WeightRole::kExpertGate;
    const std::size_t count = is_expert ? model.description.experts : 1;
    for (std::size_t e = 0; e < count; ++e) {
      const WeightId part{id.role, id.block, id.part, is_expert ? e : id.expert};
      const Weight& weight = model.weights.at(part);
      parts_[weight.tensor].push_back({part, &weight, &matrix, e * weight.outputs()});
      if (weight.factor != 1) factors_.insert(name_of_factor(weight.tensor));
    }
  }
  for (auto& [name, parts] : parts_) {
    std::ranges::sort(parts, {}, [](const FittedPart& part) {
      return std::pair(part.weight->first_row, part.weight->begin);
    });
  }
}

const std::vector<FittedPart>& TensorParts::of(const std::string& tensor,
                                               std::size_t num_elements) const {
  static const std::vector<FittedPart> none;
  const auto found = parts_.find(tensor);
  if (found == parts_.end()) return none;
  std::size_t elements = 0;
  for (const FittedPart& part : found->second) elements += part.weight->num_elements();
  if (elements != num_elements) fail_parts(tensor, "are not all fitted");
  return found->second;
}

const WeightType& TensorParts::type_of(const std::vector<FittedPart>& parts) {
  const WeightType& type = *parts.front().matrix->type;
  for (const FittedPart& part : parts) {
    if (part.matrix->type == &type) continue;
    fail_parts(part.weight->tensor,
               "have the types " + type.name + " and " + part.matrix->type->name);
  }
  return type;
}

ByteSource TensorParts::decoded(const std::vector<FittedPart>& parts) const {
  return [this, &parts](const ByteSink& sink) {
    const std::vector<float> tensor = values(parts);
    sink(std::as_bytes(std::span(tensor)));
  };
}

std::vector<float> TensorParts::values(const std::vector<FittedPart>& parts) const {
  std::size_t elements = 0;
  for (const FittedPart& part : parts) elements += part.weight->num_elements();
  std::vector<float> tensor(elements);
  const FittedMatrix* decoded = nullptr;
  std::vector<float> all;
  for (const FittedPart& part : parts) {
    if (part.matrix != decoded) {
      decoded = part.matrix;
      all = decode_unfolded(folding_, part.id, *decoded);
    }
    const std::size_t cols = part.weight->inputs();
    place(*part.weight, std::span(all).subspan(part.matrix_row * cols, part.weight->num_elements()),
          tensor);
  }
  return tensor;
}

}  // namespace halftone::lm

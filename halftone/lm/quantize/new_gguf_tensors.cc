// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/new_gguf_tensors.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "halftone/base/elementary.h"
#include "halftone/lm/quantize/tensor_parts.h"

namespace halftone::lm {
namespace {

using formats::GgufType;
using formats::NewGgufTensor;

/// Gives rows of a weight one after the other, in the order of the file: those that follow each
/// other in both at once.
void pour_rows(std::span<const std::byte> bytes, std::size_t row_bytes,
               const std::vector<std::size_t>& rows, const ByteSink& sink) {
  if (rows.empty()) return sink(bytes);
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    end = first + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
    sink(bytes.subspan(rows[first] * row_bytes, (end - first) * row_bytes));
  }
}

/// The rows of a fitted matrix, of experts all.
WeightId matrix_of_part(const WeightId& part) {
  const bool is_expert = part.role >= WeightRole::kExpertGate;
  return {part.role, part.block, part.part, is_expert ? 0 : part.expert};
}

/// Plain numbers whose bytes may be copied; null for others.
const GgufType* copied_type(const Weight& weight) {
  if (!weight.scales.bytes.empty()) return formats::gguf_type("MXFP4");
  const auto* plain = std::get_if<formats::SafetensorsType>(&weight.type);
  if (plain == nullptr || weight.is_transposed || weight.factor != 1) return nullptr;
  constexpr std::string_view kCopied[] = {"F32", "F16", "BF16"};
  const std::string_view name = formats::to_string(*plain);
  return std::ranges::find(kCopied, name) == std::end(kCopied) ? nullptr : formats::gguf_type(name);
}

bool needs_float32(const WeightId& id, const Weight& weight) {
  return weight.shape.size() < 2 || is_norm(id.role) || is_router(id.role) ||
         id.role == WeightRole::kMixerKernel || id.role == WeightRole::kChannelDecay ||
         id.role == WeightRole::kMixerSteps || id.role == WeightRole::kMixerBeta ||
         id.role == WeightRole::kPositionEmbedding;
}

/// The type of parts that are not fitted.
const GgufType& unfitted_type(const ModelParts& model, const NewGgufPlace& place) {
  const GgufType& float32 = formats::gguf_float32();
  const GgufType* type = nullptr;
  for (const WeightId& id : place.parts) {
    const Weight& weight = model.weights.at(id);
    const GgufType* stored = needs_float32(id, weight) ? nullptr : copied_type(weight);
    if (stored == nullptr || (type != nullptr && stored != type)) return float32;
    type = stored;
  }
  return *type;
}

std::vector<float> unfitted_values(const ModelParts& model, const WeightId& id) {
  std::vector<float> values = model.weights.at(id).decode();
  const bool is_unused_scale =
      id.role == WeightRole::kStreamScale && !model.description.scales_first_stream;
  if (is_unused_scale) std::ranges::fill(values, 1.0F);
  const bool is_decay = id.role == WeightRole::kDecay || id.role == WeightRole::kChannelDecay;
  if (is_decay && model.description.has_log_decays) {
    for (float& value : values) value = -static_cast<float>(elementary::exp(value));
  }
  if (!has_norm_offset(id)) return values;
  for (float& gain : values) gain += static_cast<float>(model.description.norm_offset);
  return values;
}

/// @param type  unfitted_type() of the place
ByteSource unfitted_source(const ModelParts& model, const NewGgufPlace& place,
                           const GgufType& type) {
  return [&model, parts = place.parts, is_float32 = type.name == "F32"](const ByteSink& sink) {
    for (const WeightId& id : parts) {
      const std::vector<std::size_t> rows = new_gguf_rows(model.description, id);
      const std::size_t count = model.weights.at(id).shape[0];
      const auto give = [&](std::span<const std::byte> bytes) {
        pour_rows(bytes, bytes.size() / count, rows, sink);
      };
      if (is_float32) {
        const std::vector<float> values = unfitted_values(model, id);
        give(std::as_bytes(std::span(values)));
      } else {
        give(model.weights.at(id).packed().bytes);
      }
    }
  };
}

/// The fitted matrices of a model by the tensors of a new file.
class FittedPlaces {
 public:
  FittedPlaces(const Folding& folding, const FittedMatrices& fitted)
      : folding_(folding), fitted_(fitted) {}

  NewGgufTensor tensor(const NewGgufPlace& place, FittedForm form) const {
    const auto is_fitted = [&](const WeightId& id) { return fitted_.contains(matrix_of_part(id)); };
    const ModelParts& model = folding_.model();
    if (std::ranges::none_of(place.parts, is_fitted)) {
      const GgufType& type = unfitted_type(model, place);
      return {place.name, place.shape, &type, unfitted_source(model, place, type)};
    }
    if (!std::ranges::all_of(place.parts, is_fitted)) fail_parts(place.name, "are not all fitted");
    if (form == FittedForm::kDecoded) {
      return {place.name, place.shape, &formats::gguf_float32(), decoded(place)};
    }
    return {place.name, place.shape, &type_of(place), codes(place)};
  }

 private:
  [[nodiscard]] const FittedMatrix& matrix(const WeightId& id) const {
    return fitted_.at(matrix_of_part(id));
  }
  [[nodiscard]] const GgufType& type_of(const NewGgufPlace& place) const {
    const WeightType& type = *matrix(place.parts.front()).type;
    for (const WeightId& id : place.parts) {
      const WeightType& other = *matrix(id).type;
      if (&other == &type) continue;
      fail_parts(place.name, "have the types " + type.name + " and " + other.name);
    }
    return gguf_type_of(place.name, type);
  }
  /// The rows of a part within those of its matrix, in units of `row_bytes`.
  [[nodiscard]] std::span<const std::byte> part_of(std::span<const std::byte> matrix,
                                                   const WeightId& id,
                                                   std::size_t row_bytes) const {
    const std::size_t rows = folding_.model().weights.at(id).outputs();
    const std::size_t expert = id.role >= WeightRole::kExpertGate ? id.expert : 0;
    return matrix.subspan(expert * rows * row_bytes, rows * row_bytes);
  }
  void pour(const WeightId& id, std::span<const std::byte> matrix, std::size_t row_bytes,
            const ByteSink& sink) const {
    pour_rows(part_of(matrix, id, row_bytes), row_bytes,
              new_gguf_rows(folding_.model().description, id), sink);
  }
  [[nodiscard]] ByteSource codes(const NewGgufPlace& place) const {
    return [self = *this, parts = place.parts](const ByteSink& sink) {
      for (const WeightId& id : parts) {
        const FittedMatrix& fitted = self.matrix(id);
        self.pour(id, fitted.encoded.bytes.bytes, fitted.type->size_bytes(1, fitted.cols), sink);
      }
    };
  }
  [[nodiscard]] ByteSource decoded(const NewGgufPlace& place) const {
    return [self = *this, parts = place.parts](const ByteSink& sink) {
      const FittedMatrix* known = nullptr;
      std::vector<float> values;
      for (const WeightId& id : parts) {
        const FittedMatrix& fitted = self.matrix(id);
        if (&fitted != known) values = decode_unfolded(self.folding_, matrix_of_part(id), fitted);
        known = &fitted;
        self.pour(id, std::as_bytes(std::span(values)), fitted.cols * sizeof(float), sink);
      }
    };
  }

  const Folding& folding_;
  const FittedMatrices& fitted_;
};

}  // namespace

std::vector<NewGgufTensor> new_gguf_tensors(const Folding& folding, const FittedMatrices& fitted,
                                            FittedForm form) {
  const Description& d = folding.model().description;
  const FittedPlaces places(folding, fitted);
  std::vector<NewGgufTensor> tensors;
  for (const NewGgufPlace& place : new_gguf_places(d)) {
    tensors.push_back(places.tensor(place, form));
  }
  for (NewGgufTensor& divisors : new_gguf_divisors(d)) tensors.push_back(std::move(divisors));
  for (NewGgufTensor& unread : new_gguf_unread(d)) tensors.push_back(std::move(unread));
  return tensors;
}

std::size_t unfitted_bytes(const ModelParts& model, const NewGgufPlace& place) {
  const std::size_t elements =
      std::accumulate(place.shape.begin(), place.shape.end(), std::size_t{1}, std::multiplies());
  return unfitted_type(model, place).bytes_of(elements);
}

}  // namespace halftone::lm

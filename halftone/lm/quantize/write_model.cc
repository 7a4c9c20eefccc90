// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/write_model.h"

#include <string>
#include <utility>
#include <vector>

#include "halftone/base/gzip/gzip.h"
#include "halftone/lm/model/tensor_names.h"
#include "halftone/lm/quantize/kept_matrix.h"
#include "halftone/lm/quantize/tensor_parts.h"

namespace halftone::lm {
namespace {

std::vector<std::size_t> shape_in_file(const Description& d, const WeightId& id) {
  std::vector<std::size_t> shape = shape_of(d, id);
  const std::size_t stacked = places_of(d, Naming::kGguf, id)[0].stacked;
  if (stacked != 0) shape.insert(shape.begin(), stacked);
  return shape;
}

}  // namespace

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
    if (id.role != WeightRole::kFinalTransform) {
      bytes += kept_bytes(folding, id);
      continue;
    }
    const bool is_encoded = final_transform_type().can_hold(d.width);
    bytes += is_encoded ? final_transform_type().size_bytes(d.width, d.width)
                        : d.width * d.width * sizeof(float);
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
      tensor.elements = form == FittedForm::kCodes
                            ? kept_matrix(written, id)
                            : decltype(tensor.elements)(folded_matrix(written, id));
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

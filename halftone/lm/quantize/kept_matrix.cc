// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/kept_matrix.h"

#include <algorithm>

#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/lm/quantize/weight_types.h"

namespace halftone::lm {
namespace {

/// How a matrix is kept.
enum class KeptForm {
  kFloat32,
  kCodes,      ///< those of the model's file
  kEightBits,  ///< new ones
};

const WeightType& eight_bits() {
  static const WeightType& type = weight_type("Q8_0");
  return type;
}

/// Null for plain numbers.
const numerics::BlockEncoding* codes_of(const Weight& weight) {
  const auto* encoding = std::get_if<numerics::SharedBlockEncoding>(&weight.type);
  return encoding != nullptr && (*encoding)->group > 0 ? encoding->get() : nullptr;
}

bool may_be_fitted(const Description& description, const WeightId& id) {
  const std::vector<WeightId> ids = matrices_to_fit(description);
  return std::ranges::find(ids, id) != ids.end();
}

KeptForm kept_form(const Folding& folding, const WeightId& id) {
  const ModelParts& model = folding.model();
  if (!may_be_fitted(model.description, id) || id.role >= WeightRole::kExpertGate) {
    return KeptForm::kFloat32;
  }
  const Weight& weight = model.weights.at(id);
  if (codes_of(weight) == nullptr || weight.is_transposed || weight.factor != 1) {
    return KeptForm::kFloat32;
  }
  if (!folding.changes(id)) return KeptForm::kCodes;
  return eight_bits().can_hold(weight.inputs()) ? KeptForm::kEightBits : KeptForm::kFloat32;
}

EncodedMatrix encoded_anew(const Folding& folding, const WeightId& id) {
  const Weight& weight = folding.model().weights.at(id);
  const std::vector<float> values = folding.weight(id);
  const auto fit = compress::fit_matrix(
      MatrixView<const float>(values, weight.outputs(), weight.inputs()),
      compress::Metric<float>::identity(weight.inputs()), *eight_bits().encoding,
      {.feedback = false, .candidates = 1, .sweeps = 0});
  return encode_fit(fit, eight_bits());
}

/// "token_embd.weight is" or "3 matrices, such as token_embd.weight, are".
std::string subject_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0] + " is";
  return std::to_string(names.size()) + " matrices, such as " + names[0] + ", are";
}

}  // namespace

std::variant<std::vector<float>, EncodedMatrix> kept_matrix(const Folding& folding,
                                                            const WeightId& id) {
  switch (kept_form(folding, id)) {
    case KeptForm::kCodes: {
      const Weight& weight = folding.model().weights.at(id);
      return EncodedMatrix{std::get<numerics::SharedBlockEncoding>(weight.type), weight.bytes};
    }
    case KeptForm::kEightBits:
      return encoded_anew(folding, id);
    case KeptForm::kFloat32:
      break;
  }
  return folded_matrix(folding, id);
}

std::size_t kept_bytes(const Folding& folding, const WeightId& id) {
  const Weight& weight = folding.model().weights.at(id);
  switch (kept_form(folding, id)) {
    case KeptForm::kCodes:
      return weight.bytes.bytes.size();
    case KeptForm::kEightBits:
      return eight_bits().size_bytes(weight.outputs(), weight.inputs());
    case KeptForm::kFloat32:
      break;
  }
  const std::size_t copies = stack_of(folding.model().description, id.role);
  return copies * weight.num_elements() * sizeof(float);
}

std::vector<std::string> kept_warnings(const Folding& folding, const FittedMatrices& fitted) {
  const ModelParts& model = folding.model();
  std::vector<std::string> anew;
  std::vector<std::string> floats;
  for (const WeightId& id : matrices_to_fit(model.description)) {
    if (fitted.contains(id)) continue;
    const KeptForm form = kept_form(folding, id);
    const std::string name = canonical_name(model.description, id);
    if (form == KeptForm::kEightBits) anew.push_back(name);
    if (form == KeptForm::kFloat32 && codes_of(model.weights.at(id)) != nullptr) {
      floats.push_back(name);
    }
  }
  std::vector<std::string> warnings;
  if (!anew.empty()) {
    warnings.push_back(subject_of(anew) + " kept, but rotated: written anew in " +
                       eight_bits().name + "; --no-rotation keeps the codes");
  }
  if (!floats.empty()) warnings.push_back(subject_of(floats) + " kept as float32 of the codes");
  return warnings;
}

}  // namespace halftone::lm

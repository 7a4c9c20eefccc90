// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/cost_measurement.h"

#include <algorithm>
#include <span>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

std::vector<const WeightType*> types_named(const std::vector<std::string>& names) {
  std::vector<const WeightType*> types;
  for (const std::string& name : names) {
    const WeightType& type = weight_type(name);
    if (std::ranges::find(types, &type) != types.end()) {
      fail(ErrorKind::kUsage, "types: '" + type.name + "' comes twice");
    }
    types.push_back(&type);
  }
  return types;
}

}  // namespace

TypeMenu type_menu(const ModelParts& model, bool is_gguf, const std::vector<std::string>& names) {
  const std::vector<const WeightType*> given = types_named(names);
  TypeMenu menu;
  for (const WeightId& id : matrices_to_fit(model.description)) {
    const std::size_t cols = model.weights.at(id).inputs();
    std::vector<const WeightType*> types = given;
    std::erase_if(types, [&](const WeightType* type) { return !type->can_hold(cols); });
    if (id.role == WeightRole::kBlockInputTable) {
      // These rows are fitted in pieces, which vector bases are not: see block_input_type().
      std::erase_if(types, [](const WeightType* type) { return type->gguf == nullptr; });
    }
    if (names.empty()) types = types_to_choose(is_gguf, id, cols);
    if (!types.empty()) menu.emplace(id, std::move(types));
  }
  if (menu.empty()) fail(ErrorKind::kUsage, "types: none holds the rows of a matrix");
  return menu;
}

void check_gradients(const Description& description) {
  if (description.mixers.empty()) return;
  fail(ErrorKind::kUnsupported,
       "predicted losses, by which a size chooses types: the recurrences of " +
           description.architecture + " have no gradient yet; give a type");
}

void measure_costs(const CostMeasurement& how, const TypeMenu& menu, QuantizeState& state) {
  constexpr double kShareOfGradients = 0.4;
  const auto save = [&] {
    if (how.save) how.save();
  };
  if (!state.gradients) {
    const std::size_t count = std::min(how.samples.fit.size(), kGradientSamples);
    state.gradients = measure_squared_gradients(
        how.model.description, how.model.weights, std::span(how.samples.fit).first(count),
        {how.seed, part_of(how.progress, 0, kShareOfGradients)});
    save();
  }
  MatrixWalkJob walk{.model = how.model,
                     .folding = how.folding,
                     .samples = how.samples,
                     .damping = how.damping,
                     .threads = how.threads,
                     .progress = part_of(how.progress, kShareOfGradients, 1),
                     .on_block = save};
  if (state.losses.empty()) {
    walk.on_losses = [&](std::vector<double> losses) { state.losses = std::move(losses); };
  }
  measure_type_costs(walk, *state.gradients, menu, state.costs);
  save();
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/tensor_names.h"

#include <algorithm>

#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/tensor_name_rows.h"

namespace halftone::lm {
namespace {

std::string filled(std::string pattern, const WeightId& id) {
  const auto replace = [&](std::string_view sign, std::size_t number) {
    const auto at = pattern.find(sign);
    if (at != std::string::npos) pattern.replace(at, sign.size(), std::to_string(number));
  };
  replace("{}", id.block);
  replace("{e}", id.expert);
  return pattern;
}

/// The outputs of a role within a tensor that holds several.
TensorPlace place_in(const Description& d, const WeightId& id, TensorContents contents) {
  const auto outputs_of = [&](WeightRole role) {
    return shape_of(d, {.role = role, .block = id.block})[0];
  };
  TensorPlace place;
  if (contents == TensorContents::kQueryKeyValue) {
    const std::size_t query = outputs_of(WeightRole::kQuery);
    const std::size_t key = outputs_of(WeightRole::kKey);
    place.begin = id.role == WeightRole::kQuery ? 0
                  : id.role == WeightRole::kKey ? query
                                                : query + key;
    place.outputs = query + key + outputs_of(WeightRole::kValue);
  } else if (contents == TensorContents::kGateUp || contents == TensorContents::kExpertsGateUp) {
    const std::size_t one = outputs_of(id.role);
    const bool is_first = id.role == WeightRole::kGate || id.role == WeightRole::kExpertGate ||
                          id.role == WeightRole::kSharedGate;
    place.begin = is_first ? 0 : one;
    place.outputs = 2 * one;
  } else if (contents == TensorContents::kExpertsByTurns) {
    place.begin = id.role == WeightRole::kExpertGate ? 0 : 1;
    place.step = 2;
    place.outputs = 2 * outputs_of(id.role);
  } else {
    place.outputs = outputs_of(id.role);
  }
  const bool is_stacked =
      contents == TensorContents::kExperts || contents == TensorContents::kExpertsGateUp ||
      contents == TensorContents::kExpertsByTurns || contents == TensorContents::kStreams;
  if (is_stacked) place.stacked = stack_of(d, id.role);
  return place;
}

/// Whether a GGUF file of this recurrence has the name, if it is one of a recurrence.
bool is_of_mixer(const Description& d, const NameRow& row) {
  if (row.role == WeightRole::kMixerSteps) {
    return (row.contents == TensorContents::kMergedSteps) == d.merges_steps;
  }
  if (row.role != WeightRole::kMixerInput && row.role != WeightRole::kMixerKernel &&
      row.role != WeightRole::kMixerOutput) {
    return true;
  }
  if (row.role == WeightRole::kMixerInput && d.has_mixer(Mixer::kDelta) && !d.merges_gate) {
    return row.contents == TensorContents::kDelta;
  }
  return row.contents ==
         (d.has_mixer(Mixer::kConvolution) ? TensorContents::kShort : TensorContents::kOne);
}

}  // namespace

std::vector<TensorPlace> places_of(const Description& whole, Naming naming, const WeightId& id) {
  const Description d = id.role >= WeightRole::kAttentionNorm ? whole.of_block(id.block) : whole;
  std::vector<TensorPlace> places;
  const bool transposes_experts = architecture_of_gguf(d.architecture).hf_transposes_experts;
  const auto add = [&](const NameRow& row) {
    const bool is_other_norm = row.contents == TensorContents::kFeedForwardNorm && d.has_post_norms;
    const bool is_other_query =
        (row.contents == TensorContents::kOfQueryLatent) != (d.query_latent_width != 0);
    if (row.role == WeightRole::kQuery && is_other_query) return;
    const bool is_other = !row.architecture.empty() && row.architecture != d.architecture;
    if (row.role != id.role || row.naming != naming || is_other_norm || is_other) return;
    const bool takes_turns = transposes_experts && naming == Naming::kHf;
    const bool has_turns =
        row.contents == TensorContents::kExpertsByTurns || row.contents == TensorContents::kExperts;
    const bool is_expert = id.role >= WeightRole::kExpertGate;
    if (is_expert && (takes_turns ? !has_turns : row.contents == TensorContents::kExpertsByTurns))
      return;
    if (naming == Naming::kGguf && !is_of_mixer(d, row)) return;
    TensorPlace place = place_in(d, id, row.contents);
    place.name = filled(row.pattern, id);
    place.is_transposed = naming == Naming::kHfGpt2 && id.role > WeightRole::kHead &&
                          id.part == Part::kWeight && !is_norm(id.role);
    if (takes_turns && place.stacked != 0) place.is_transposed = id.part == Part::kWeight;
    // Experts in one tensor have no suffix of their own in Hugging Face's files.
    if (place.stacked != 0 && naming == Naming::kHf) {
      if (id.part == Part::kBias) place.name += "_bias";
    } else if (row.contents != TensorContents::kNamed) {
      place.name += id.part == Part::kBias ? ".bias" : ".weight";
    }
    places.push_back(std::move(place));
  };
  std::ranges::for_each(gguf_name_rows(), add);
  std::ranges::for_each(hf_name_rows(), add);
  return places;
}

TensorPlace new_gguf_place(const Description& d, const WeightId& id) {
  std::vector<TensorPlace> places = places_of(d, Naming::kGguf, id);
  const bool is_query_key_value =
      id.role == WeightRole::kQuery || id.role == WeightRole::kKey || id.role == WeightRole::kValue;
  const bool is_gate_up =
      d.is_gated && (id.role == WeightRole::kGate || id.role == WeightRole::kUp);
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  const bool is_merged =
      (is_query_key_value && architecture.gguf_merges) ||
      (is_gate_up && (architecture.gguf_merges || architecture.gguf_merges_gates));
  // The merged tensors are the last places; those of one architecture, too.
  const bool is_own =
      (id.role == WeightRole::kFeedForwardNorm || id.role == WeightRole::kFinalNorm) &&
      places.size() > 1;
  return is_merged || is_own ? places.back() : places.front();
}

}  // namespace halftone::lm

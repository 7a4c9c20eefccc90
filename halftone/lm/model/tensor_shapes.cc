// SPDX-License-Identifier: Apache-2.0
// What the tensors of a model are called in messages, and their shapes.
#include <algorithm>
#include <array>
#include <iterator>

#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {
namespace {

std::size_t width(const Description& d) { return d.width; }
std::size_t vocabulary(const Description& d) { return d.vocabulary; }
std::size_t context(const Description& d) { return d.context; }
std::size_t heads(const Description& d) { return d.heads; }
/// A gate follows each query if there are gates.
std::size_t query_width(const Description& d) {
  return d.heads * d.head_width * (d.gates_attention ? 2 : 1);
}
std::size_t key_width(const Description& d) { return d.kv_heads * d.head_width; }
std::size_t value_width(const Description& d) { return d.kv_heads * d.value_width; }
std::size_t mixed_width(const Description& d) { return d.heads * d.value_width; }
std::size_t query_inputs(const Description& d) {
  return d.query_latent_width == 0 ? d.width : d.query_latent_width;
}
std::size_t query_latent(const Description& d) { return d.query_latent_width; }
std::size_t latent(const Description& d) { return d.latent_width; }
/// With the elements that all heads rotate.
std::size_t whole_latent(const Description& d) { return d.latent_width + d.rotary_dims; }
/// Of each head the key but for rotated elements, then the value.
std::size_t key_value_width(const Description& d) {
  return d.heads * (d.head_width - d.rotary_dims + d.value_width);
}
std::size_t query_norm_width(const Description& d) {
  return d.normalizes_together ? d.heads * d.head_width : d.head_width;
}
std::size_t key_norm_width(const Description& d) {
  return d.normalizes_together ? d.kv_heads * d.head_width : d.head_width;
}
std::size_t inner(const Description& d) { return d.inner; }
std::size_t block_input(const Description& d) { return d.block_input_width; }
std::size_t block_inputs(const Description& d) { return d.blocks * d.block_input_width; }
std::size_t block_input_rows(const Description& d) {
  return d.block_input_rows == 0 ? d.vocabulary : d.block_input_rows;
}
std::size_t streams(const Description& d) { return d.streams; }
std::size_t pairs_of_streams(const Description& d) { return d.streams * d.streams; }
std::size_t bypass_rank(const Description& d) { return d.bypass_rank; }
/// Of blocks without experts.
std::size_t dense_inner(const Description& d) { return d.experts == 0 ? d.inner : d.dense_inner; }
std::size_t shared_inner(const Description& d) { return d.shared_inner; }
std::size_t experts(const Description& d) { return d.experts; }
bool is_scan(const Description& d) { return d.scan_inner != 0; }
/// Channels of the short convolution of a recurrence.
std::size_t mixer_channels(const Description& d) {
  if (d.has_mixer(Mixer::kChannelScan)) return d.scan_inner;
  return is_scan(d) ? d.scan_inner + 2 * d.scan_groups * d.scan_states : d.width;
}
/// What the input matrix gives.
std::size_t mixer_inputs(const Description& d) {
  if (!is_scan(d)) return 3 * d.width;
  if (d.has_mixer(Mixer::kChannelScan)) return 2 * d.scan_inner;
  if (d.has_scan()) return d.scan_inner + mixer_channels(d) + d.scan_heads;
  return mixer_channels(d) + (d.merges_gate ? d.scan_inner : 0);
}
std::size_t mixer_steps(const Description& d) { return d.scan_heads * (d.merges_steps ? 2 : 1); }
/// Gains of a delta rule are those of one head.
std::size_t mixer_gains(const Description& d) {
  return d.has_mixer(Mixer::kDelta) ? d.scan_inner / d.scan_heads : d.scan_inner;
}
/// Rows that its output matrix reads.
std::size_t mixer_inner(const Description& d) { return is_scan(d) ? d.scan_inner : d.width; }
std::size_t scan_heads(const Description& d) { return d.scan_heads; }
std::size_t scan_states(const Description& d) { return d.scan_states; }
std::size_t scan_rank(const Description& d) { return d.scan_rank; }
std::size_t selection(const Description& d) { return d.scan_rank + 2 * d.scan_states; }
std::size_t taps(const Description& d) { return d.taps; }
std::size_t one(const Description& /*d*/) { return 1; }

/// @param inputs  null: a vector
struct RoleRow {
  WeightRole role;
  std::string_view name;
  std::size_t (*outputs)(const Description&);
  std::size_t (*inputs)(const Description&) = nullptr;
};

constexpr RoleRow kRoles[] = {
    {WeightRole::kTokenEmbedding, "token embedding", vocabulary, width},
    {WeightRole::kPositionEmbedding, "position embedding", context, width},
    {WeightRole::kFinalNorm, "final norm", width},
    {WeightRole::kFinalTransform, "final transform", width, width},
    {WeightRole::kBlockInputTable, "embedding of blocks", block_input_rows, block_inputs},
    {WeightRole::kBlockInputProjection, "projection to inputs of blocks", block_inputs, width},
    {WeightRole::kBlockInputNorm, "block inputs norm", block_input},
    {WeightRole::kStreamStart, "start of a stream", width, width},
    {WeightRole::kStreamEnd, "end of a stream", width, width},
    {WeightRole::kHead, "head", vocabulary, width},
    {WeightRole::kAttentionNorm, "attention norm", width},
    {WeightRole::kMixerInput, "recurrence input", mixer_inputs, width},
    {WeightRole::kMixerGate, "gate of a recurrence", mixer_inner, width},
    {WeightRole::kMixerSteps, "steps of a recurrence", mixer_steps, width},
    {WeightRole::kMixerBeta, "beta of a recurrence", scan_heads, width},
    {WeightRole::kMixerKernel, "kernel of the short convolution", mixer_channels, taps},
    {WeightRole::kSelection, "selection of a recurrence", selection, mixer_inner},
    {WeightRole::kStepNorm, "recurrence step norm", scan_rank},
    {WeightRole::kScanInputNorm, "recurrence b norm", scan_states},
    {WeightRole::kScanOutputNorm, "recurrence c norm", scan_states},
    {WeightRole::kStepProjection, "projection to the steps of a recurrence", scan_heads, scan_rank},
    {WeightRole::kChannelDecay, "decays of the channels of a recurrence", scan_heads, scan_states},
    {WeightRole::kDecay, "decay of a recurrence", scan_heads},
    {WeightRole::kStepBias, "bias of the steps of a recurrence", scan_heads},
    {WeightRole::kSkip, "factor of the rows of a recurrence", scan_heads},
    {WeightRole::kMixerNorm, "recurrence norm", mixer_gains},
    {WeightRole::kMixerOutput, "recurrence output", width, mixer_inner},
    {WeightRole::kQueryLatent, "latent of queries", query_latent, width},
    {WeightRole::kQueryLatentNorm, "latent query norm", query_latent},
    {WeightRole::kQuery, "attention query", query_width, query_inputs},
    {WeightRole::kKey, "attention key", key_width, width},
    {WeightRole::kValue, "attention value", value_width, width},
    {WeightRole::kLatent, "latent of keys and values", whole_latent, width},
    {WeightRole::kLatentNorm, "latent norm", latent},
    {WeightRole::kKeyValue, "attention key and value", key_value_width, latent},
    {WeightRole::kQueryNorm, "query norm", query_norm_width},
    {WeightRole::kKeyNorm, "key norm", key_norm_width},
    {WeightRole::kSinks, "attention sinks", heads},
    {WeightRole::kAttentionSubNorm, "attention sub-norm", mixed_width},
    {WeightRole::kAttentionOutput, "attention output", width, mixed_width},
    {WeightRole::kAttentionPostNorm, "attention post-norm", width},
    {WeightRole::kFeedForwardNorm, "feed-forward norm", width},
    {WeightRole::kGate, "feed-forward gate", dense_inner, width},
    {WeightRole::kUp, "feed-forward up", dense_inner, width},
    {WeightRole::kFeedForwardSubNorm, "feed-forward sub-norm", dense_inner},
    {WeightRole::kDown, "feed-forward down", width, dense_inner},
    {WeightRole::kFeedForwardPostNorm, "feed-forward post-norm", width},
    {WeightRole::kBlockInputGate, "gate of the block's input", block_input, width},
    {WeightRole::kBlockInputOutput, "output of the block's input", width, block_input},
    {WeightRole::kBlockInputPostNorm, "block input post-norm", width},
    {WeightRole::kBlockFactor, "factor of the block", one},
    {WeightRole::kBypassLeft, "left matrix past attention", bypass_rank, width},
    {WeightRole::kBypassRight, "right matrix past attention", width, bypass_rank},
    {WeightRole::kBypassNorm, "bypass norm", width},
    {WeightRole::kStreamRouter, "router of streams", streams, width},
    {WeightRole::kStreamRouterNorm, "stream router norm", width},
    {WeightRole::kStreamPrediction, "prediction of streams", pairs_of_streams, streams},
    {WeightRole::kStreamCorrection, "correction of streams", streams, streams},
    {WeightRole::kStreamScale, "scale of the first stream", width},
    {WeightRole::kNetworkPostNorm, "network post-norm", width},
    {WeightRole::kExpertsNorm, "experts norm", width},
    {WeightRole::kExpertsPostNorm, "experts post-norm", width},
    {WeightRole::kRouterGain, "gain of the router's rows", width},
    {WeightRole::kExpertFactors, "factors of experts", experts},
    {WeightRole::kRouter, "router", experts, width},
    {WeightRole::kChoiceBias, "bias of the choice of experts", experts},
    {WeightRole::kSharedGate, "gate of the shared expert", shared_inner, width},
    {WeightRole::kSharedUp, "up of the shared expert", shared_inner, width},
    {WeightRole::kSharedDown, "down of the shared expert", width, shared_inner},
    {WeightRole::kSharedRouter, "router of the shared expert", one, width},
    {WeightRole::kExpertGate, "gate of an expert", inner, width},
    {WeightRole::kExpertUp, "up of an expert", inner, width},
    {WeightRole::kExpertDown, "down of an expert", width, inner},
};

constexpr bool has_all_roles() {
  for (std::size_t i = 0; i < std::size(kRoles); ++i) {
    if (kRoles[i].role != static_cast<WeightRole>(i)) return false;
  }
  return std::size(kRoles) == static_cast<std::size_t>(WeightRole::kCount);
}
static_assert(has_all_roles());

const RoleRow& row_of(WeightRole role) { return kRoles[static_cast<std::size_t>(role)]; }

}  // namespace

std::string_view to_string(WeightRole role) { return row_of(role).name; }

bool is_norm(WeightRole role) { return to_string(role).ends_with("norm"); }

bool is_router(WeightRole role) {
  constexpr std::array kRouters = {WeightRole::kRouter, WeightRole::kSharedRouter,
                                   WeightRole::kStreamRouter, WeightRole::kStreamPrediction,
                                   WeightRole::kStreamCorrection};
  return std::ranges::find(kRouters, role) != kRouters.end();
}

std::size_t stack_of(const Description& description, WeightRole role) {
  if (role >= WeightRole::kExpertGate) return description.experts;
  const bool is_of_stream = role == WeightRole::kStreamStart || role == WeightRole::kStreamEnd;
  return is_of_stream ? description.streams - 1 : 1;
}

bool has_norm_offset(const WeightId& id) {
  const bool is_of_mixer =
      id.role >= WeightRole::kMixerInput && id.role <= WeightRole::kMixerOutput;
  return is_norm(id.role) && !is_of_mixer && id.part == Part::kWeight;
}

std::string to_string(const WeightId& id) {
  std::string text(id.part == Part::kBias ? "bias of the " : "");
  text += to_string(id.role);
  if (id.role >= WeightRole::kAttentionNorm) text += " of block " + std::to_string(id.block);
  if (id.role >= WeightRole::kExpertGate) text += ", expert " + std::to_string(id.expert);
  const bool is_of_stream =
      id.role == WeightRole::kStreamStart || id.role == WeightRole::kStreamEnd;
  if (is_of_stream) text += ", stream " + std::to_string(id.expert + 1);
  return text;
}

std::vector<std::size_t> shape_of(const Description& whole, const WeightId& id) {
  const RoleRow& row = row_of(id.role);
  const Description description =
      id.role >= WeightRole::kAttentionNorm ? whole.of_block(id.block) : whole;
  std::vector<std::size_t> shape = {row.outputs(description)};
  if (row.inputs != nullptr && id.part == Part::kWeight) shape.push_back(row.inputs(description));
  return shape;
}

}  // namespace halftone::lm

// SPDX-License-Identifier: Apache-2.0
// Which tensors the graphs of a description read.
#include <utility>

#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {
namespace {

/// Adds the tensors of one model or block.
class WeightList {
 public:
  void add(WeightRole role, bool has_bias = false, std::size_t experts = 1) {
    for (std::size_t expert = 0; expert < experts; ++expert) {
      ids_.push_back({role, block, Part::kWeight, expert});
    }
    if (!has_bias) return;
    for (std::size_t expert = 0; expert < experts; ++expert) {
      ids_.push_back({role, block, Part::kBias, expert});
    }
  }
  void add_if(bool is_there, WeightRole role, bool has_bias = false) {
    if (is_there) add(role, has_bias);
  }
  /// The gain and the bias of a norm of rows.
  void add_norm(const Description& d, WeightRole role) {
    if (d.has_norm_gain) add(role, d.biases_norms());
  }
  void add_bias(WeightRole role) { ids_.push_back({role, block, Part::kBias, 0}); }
  std::vector<WeightId> take() { return std::move(ids_); }

  std::size_t block = 0;

 private:
  std::vector<WeightId> ids_;
};

void list_latents(const Description& d, WeightList& list) {
  const bool has_query = d.query_latent_width != 0;
  list.add_if(has_query, WeightRole::kQueryLatent);
  list.add_if(has_query, WeightRole::kQueryLatentNorm);
  for (const WeightRole role :
       {WeightRole::kQuery, WeightRole::kLatent, WeightRole::kLatentNorm, WeightRole::kKeyValue})
    list.add(role);
}

void list_attention(const Description& d, WeightList& list) {
  if (d.latent_width != 0) {
    list_latents(d, list);
  } else {
    list.add(WeightRole::kQuery, d.has_qkv_bias);
    const bool has_keys = !d.shares_keys(list.block);
    const bool has_values = has_keys && !(d.keys_are_values && !d.is_windowed(list.block));
    list.add_if(has_keys, WeightRole::kKey, d.has_qkv_bias);
    list.add_if(has_values, WeightRole::kValue, d.has_qkv_bias);
  }
  list.add_if(d.normalizes_heads, WeightRole::kQueryNorm);
  list.add_if(d.normalizes_heads && !d.shares_keys(list.block), WeightRole::kKeyNorm);
  list.add_if(d.has_sinks, WeightRole::kSinks);
  if (d.has_sub_norms) list.add_norm(d, WeightRole::kAttentionSubNorm);
  list.add(WeightRole::kAttentionOutput, d.has_output_bias);
}

void list_convolution(WeightList& list) {
  for (const WeightRole role :
       {WeightRole::kMixerInput, WeightRole::kMixerKernel, WeightRole::kMixerOutput})
    list.add(role);
}

void list_scan(const Description& d, WeightList& list) {
  list.add(WeightRole::kMixerInput);
  list.add(WeightRole::kMixerKernel, d.has_kernel_bias);
  for (const WeightRole role : {WeightRole::kDecay, WeightRole::kStepBias, WeightRole::kSkip})
    list.add(role);
  list.add_if(d.has_scan_norm, WeightRole::kMixerNorm);
  list.add(WeightRole::kMixerOutput);
}

void list_channel_scan(const Description& d, WeightList& list) {
  list.add(WeightRole::kMixerInput);
  list.add(WeightRole::kMixerKernel, d.has_kernel_bias);
  for (const WeightRole role :
       {WeightRole::kSelection, WeightRole::kStepNorm, WeightRole::kScanInputNorm,
        WeightRole::kScanOutputNorm, WeightRole::kStepProjection, WeightRole::kStepBias,
        WeightRole::kChannelDecay, WeightRole::kSkip, WeightRole::kMixerOutput})
    list.add(role);
}

void list_delta(const Description& d, WeightList& list) {
  list.add(WeightRole::kMixerInput);
  list.add_if(!d.merges_gate, WeightRole::kMixerGate);
  list.add(WeightRole::kMixerSteps);
  list.add_if(!d.merges_steps, WeightRole::kMixerBeta);
  for (const WeightRole role : {WeightRole::kMixerKernel, WeightRole::kDecay, WeightRole::kStepBias,
                                WeightRole::kMixerNorm, WeightRole::kMixerOutput})
    list.add(role);
}

void list_mixer(const Description& d, WeightList& list) {
  if (d.mixer(list.block) == Mixer::kNone) return;
  if (d.has_pre_norms) list.add_norm(d, WeightRole::kAttentionNorm);
  switch (d.mixer(list.block)) {
    case Mixer::kAttention:
      list_attention(d, list);
      break;
    case Mixer::kConvolution:
      list_convolution(list);
      break;
    case Mixer::kScan:
      list_scan(d, list);
      break;
    case Mixer::kDelta:
      list_delta(d, list);
      break;
    case Mixer::kAttentionAndScan:
      list_attention(d, list);
      list_scan(d, list);
      break;
    case Mixer::kChannelScan:
      list_channel_scan(d, list);
      break;
    case Mixer::kNone:
      break;
  }
  if (d.has_post_norms) list.add_norm(d, WeightRole::kAttentionPostNorm);
}

void list_feed_forward(const Description& d, WeightList& list) {
  if (!d.has_network(list.block)) return;
  if (d.has_pre_norms && !d.shares_pre_norm) list.add_norm(d, WeightRole::kFeedForwardNorm);
  const bool has_experts = d.has_experts(list.block);
  if (!has_experts || d.has_network_beside) {
    list.add_if(d.is_gated, WeightRole::kGate, d.has_ffn_bias);
    list.add(WeightRole::kUp, d.has_ffn_bias);
    if (d.has_sub_norms) list.add_norm(d, WeightRole::kFeedForwardSubNorm);
    list.add(WeightRole::kDown, d.has_ffn_bias);
  }
  if (has_experts && d.has_network_beside) {
    for (const WeightRole role :
         {WeightRole::kNetworkPostNorm, WeightRole::kExpertsNorm, WeightRole::kExpertsPostNorm,
          WeightRole::kRouterGain, WeightRole::kExpertFactors})
      list.add(role);
  }
  if (has_experts) {
    list.add(WeightRole::kRouter, d.has_expert_bias);
    list.add_if(d.has_choice_bias, WeightRole::kChoiceBias);
    if (d.is_gated) list.add(WeightRole::kExpertGate, d.has_expert_bias, d.experts);
    list.add(WeightRole::kExpertUp, d.has_expert_bias, d.experts);
    list.add(WeightRole::kExpertDown, d.has_expert_bias, d.experts);
  }
  if (has_experts && d.shared_inner != 0) {
    list.add_if(d.is_gated, WeightRole::kSharedGate);
    list.add(WeightRole::kSharedUp);
    list.add(WeightRole::kSharedDown);
    list.add_if(d.has_shared_gate, WeightRole::kSharedRouter);
  }
  if (d.has_post_norms) list.add_norm(d, WeightRole::kFeedForwardPostNorm);
}

void list_streams(const Description& d, WeightList& list) {
  if (d.bypass_rank != 0) {
    list.add(WeightRole::kBypassLeft);
    list.add(WeightRole::kBypassRight);
    list.add_norm(d, WeightRole::kBypassNorm);
  }
  if (d.streams == 1) return;
  list.add_norm(d, WeightRole::kStreamRouterNorm);
  for (const WeightRole role : {WeightRole::kStreamRouter, WeightRole::kStreamPrediction,
                                WeightRole::kStreamCorrection, WeightRole::kStreamScale})
    list.add(role);
}

void list_block_input(const Description& d, WeightList& list) {
  list.add_if(d.has_block_factor, WeightRole::kBlockFactor);
  if (d.block_input_width == 0) return;
  list.add(WeightRole::kBlockInputGate);
  list.add(WeightRole::kBlockInputOutput);
  list.add_norm(d, WeightRole::kBlockInputPostNorm);
}

}  // namespace

std::vector<WeightId> needed_weights(const Description& d) {
  WeightList list;
  list.add(WeightRole::kTokenEmbedding);
  list.add_if(d.positions == Positions::kLearned, WeightRole::kPositionEmbedding);
  list.add_norm(d, WeightRole::kFinalNorm);
  list.add_if(d.has_final_transform, WeightRole::kFinalTransform);
  if (d.block_input_width != 0) {
    list.add(WeightRole::kBlockInputTable);
    list.add(WeightRole::kBlockInputProjection);
    list.add_norm(d, WeightRole::kBlockInputNorm);
  }
  list.add(WeightRole::kStreamStart, false, d.streams - 1);
  list.add(WeightRole::kStreamEnd, false, d.streams - 1);
  list.add_if(!d.ties_embeddings, WeightRole::kHead);
  if (d.has_head_bias) list.add_bias(WeightRole::kHead);
  for (list.block = 0; list.block < d.blocks; ++list.block) {
    list_mixer(d, list);
    list_feed_forward(d, list);
    list_block_input(d, list);
    list_streams(d, list);
  }
  return list.take();
}

}  // namespace halftone::lm
